import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { ReplayedContract } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { replayWatch, type AskedBlocks } from '../domain/watches/replay.ts';
import type { Holder } from '../domain/watches/stopped-watch.ts';
import { askedStream, watchFold } from '../domain/watches/watch.ts';
import { storedProgress } from '../edge/stored-progress.ts';

interface Asked {
  watchId: string;
  by: Holder;
  blocks: AskedBlocks;
  metadata: EventMetadata;
}

/**
 * Stores the request to read blocks of a watch again. The follower of its chain learns of it from the event, as of any
 * other change of a watch.
 * @throws Refusal watch_not_found, forbidden, not_caught_up, validation_failed
 */
export const requestReplay = async (
  transactor: Transactor,
  { watchId: id, by, blocks, metadata }: Asked,
): Promise<{ replay: ReplayedContract; position: Position }> => {
  const stream = askedStream(id);
  const { state } = await transactor.load(stream, watchFold);
  const finalized = state && (await storedProgress(transactor.store, state.chainId))?.finalized;
  const requested = { fromBlock: 0, toBlock: 0 };
  const { position } = await transactor.transact({
    stream,
    fold: watchFold,
    metadata,
    decide: (watch) => {
      const event = replayWatch(watch, by, blocks, finalized);
      Object.assign(requested, { fromBlock: event.data.fromBlock, toBlock: event.data.toBlock });
      return [event];
    },
  });
  return { replay: { id, ...requested }, position };
};
