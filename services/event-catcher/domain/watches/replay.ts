import type { WatchEvent } from '../../../../schemas/events/event-catcher/watch-events.ts';
import { invalid, Refusal } from '../../../../shared/errors/refusal.ts';
import type { Watch } from '../../../../shared/read-models/event-catcher/watches.ts';
import { heldBy, type Holder } from './stopped-watch.ts';
import { about } from './watch.ts';

/** The blocks that a caller asks for. */
export interface AskedBlocks {
  fromBlock?: number | undefined;
  toBlock?: number | undefined;
}

/**
 * Requests that final blocks of a watch are read again: all of them, unless the caller names some.
 * @param finalized the newest final block of the chain; `undefined` while nothing of the chain was read
 * @throws Refusal watch_not_found, forbidden, not_caught_up, validation_failed
 */
export const replayWatch = (
  known: Watch | undefined,
  by: Holder,
  { fromBlock, toBlock }: AskedBlocks,
  finalized: number | undefined,
): Extract<WatchEvent, { type: 'WatchReplayRequested' }> => {
  const watch = heldBy(known, by);
  const { startBlock } = watch;
  if (finalized === undefined) throw new Refusal('not_caught_up', 'nothing of the chain has been read yet');
  const notFinal = `is not final yet: block ${String(finalized)} is the newest that is`;
  if (startBlock > finalized) {
    throw new Refusal('not_caught_up', `block ${String(startBlock)}, where the registration begins, ${notFinal}`);
  }
  const from = fromBlock ?? startBlock;
  const to = toBlock ?? finalized;
  if (from < startBlock) {
    throw invalid({
      path: 'fromBlock',
      message: `is before block ${String(startBlock)}, where the registration begins`,
    });
  }
  if (to > finalized) {
    throw invalid({ path: 'toBlock', message: notFinal });
  }
  if (from > to && fromBlock === undefined)
    throw invalid({ path: 'toBlock', message: `is before block ${String(from)}` });
  if (from > to) throw invalid({ path: 'fromBlock', message: `is after block ${String(to)}, the last one` });
  return { type: 'WatchReplayRequested', data: { ...about(watch), fromBlock: from, toBlock: to } };
};
