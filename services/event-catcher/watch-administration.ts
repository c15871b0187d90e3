import { CannotStart } from '../../shared/errors/cannot-start.ts';
import { operatorMetadata } from '../../shared/event-store/transactions/own-metadata.ts';
import { Transactor } from '../../shared/event-store/transactions/transact.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import type { ReplayedContract } from '../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { Watch } from '../../shared/read-models/event-catcher/watches.ts';
import { pauseWatch, resumeWatch } from './domain/watches/stopped-watch.ts';
import type { AskedBlocks } from './domain/watches/replay.ts';
import { isWatchId, watchFold, watchStream } from './domain/watches/watch.ts';
import { requestReplay } from './replay-watch/request-replay.ts';

export type { Watch };

/**
 * Pauses or resumes a watch as the operator, whoever holds it. A watch that the operator resumed has no bounds on its
 * backfill.
 * @throws CannotStart, Refusal watch_not_found
 */
export const changeWatchAsOperator = async (
  watchId: string,
  change: 'pause' | 'resume',
  { eventStore, clock, ids }: Pick<Foundation, 'eventStore' | 'clock' | 'ids'>,
): Promise<Watch> => {
  if (!isWatchId(watchId)) throw new CannotStart(`${watchId} is not the id of a registration`);
  const { state } = await new Transactor(eventStore, clock, ids).transact({
    stream: watchStream(watchId),
    fold: watchFold,
    metadata: operatorMetadata(ids),
    decide: (watch) => (change === 'pause' ? pauseWatch : resumeWatch)(watch, { kind: 'operator' }),
  });
  if (!state) throw new CannotStart(`no registration has the id ${watchId}`);
  return state;
};

/**
 * Lets final blocks of a watch be read again as the operator, whoever holds it.
 * @throws CannotStart, Refusal watch_not_found, not_caught_up, validation_failed
 */
export const replayWatchAsOperator = async (
  watchId: string,
  blocks: AskedBlocks,
  { eventStore, clock, ids }: Pick<Foundation, 'eventStore' | 'clock' | 'ids'>,
): Promise<ReplayedContract> => {
  if (!isWatchId(watchId)) throw new CannotStart(`${watchId} is not the id of a registration`);
  const asked = { watchId, by: { kind: 'operator' } as const, blocks, metadata: operatorMetadata(ids) };
  return (await requestReplay(new Transactor(eventStore, clock, ids), asked)).replay;
};
