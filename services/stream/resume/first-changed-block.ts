import type { Projections } from '../../../shared/edge/projections.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { recordWatchIds } from '../../../shared/chain/watch-id.ts';
import { chainEventsModel } from '../../../shared/read-models/chain-events.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { SEGMENT_RECORDS } from '../../../shared/chain/record-terms.ts';
import type { Channel } from '../domain/channel.ts';
import { finalizedBlockOf, recordsFrom } from '../edge/observations.ts';

interface Options {
  readStore: ReadStore;
  projections: Pick<Projections, 'reached'>;
  /** Lets others be served before the next page is read. */
  yieldToOthers: () => Promise<void>;
}

const { count } = chainEventsModel.collections;
/** So many records are looked at, one page in a tick of the event loop. */
const RECORDS_MAX = SEGMENT_RECORDS;

/**
 * Returns the first block of which the channel had a change after a position, or an earlier one where that would take long
 * to find.
 * @throws Refusal not_caught_up while the read model is behind `until`; the signal's reason when nobody waits any more
 */
export const firstChangedBlock = async (
  { readStore, projections, yieldToOthers }: Options,
  channel: Channel,
  { after, until }: { after: Position; until: Position },
  signal: AbortSignal,
): Promise<number> => {
  await projections.reached(chainEventsModel.name, until);
  const stored = await readStore.getMany(count.name, recordWatchIds({ ...channel, id: channel.watchId }));
  const segments = [...stored.values()].flatMap(({ document }) => count.document.parse(document).segments);
  const changed = segments.filter(([, , , , newest]) => newest > after);
  // Nothing of the channel is missing: any block will do.
  if (changed.length === 0) return Math.max(0, (await finalizedBlockOf(readStore, channel.chainId)).block);
  // What is before the first block of these segments has not changed.
  let block = changed.reduce((least, [first]) => Math.min(least, first), Infinity);
  let records = 0;
  for await (const page of recordsFrom(readStore, channel, block)) {
    const found = page.find(({ changes }) => (changes.at(-1) ?? 0) > after);
    if (found) return found.BlockNumber;
    block = page.at(-1)?.BlockNumber ?? block;
    records += page.length;
    if (records >= RECORDS_MAX) return block;
    await yieldToOthers();
    signal.throwIfAborted();
  }
  return block;
};
