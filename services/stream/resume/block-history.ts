import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { Channel } from '../domain/channel.ts';
import { placeOf, type Cursors } from '../domain/cursor.ts';
import { toDelivery, type Delivery } from '../domain/delivery.ts';
import type { Page } from '../domain/delivery.ts';
import { finalizedBlockOf, observations, observedUntil, type Observation } from '../edge/observations.ts';

interface BlockHistoryOptions {
  readStore: ReadStore;
  cursors: Cursors;
  clock: Clock;
}

/**
 * What stood when it was called, each record once, in the order of observation; the last page ends at that position,
 * and what came after is the topic's to tell. A reorganisation meanwhile moves a record behind that position, where a
 * second round finds it; it can move only records that are not final, so only those are remembered.
 */
export async function* currentFrom(
  { readStore, cursors, clock }: BlockHistoryOptions,
  channel: Channel,
  fromBlock: number,
): AsyncGenerator<Page, undefined> {
  const finalized = await finalizedBlockOf(readStore, channel.chainId);
  const markedAtMs = clock.now();
  const asOf = await observedUntil(readStore);
  const sent = new Set<string>();
  const toPage = (found: readonly Observation[]): Page => {
    const deliveries: Delivery[] = [];
    for (const { record, changes } of found) {
      const position = observedSince(changes, asOf);
      if (position === undefined || sent.has(record.Id)) continue;
      if (record.BlockNumber > finalized.block) sent.add(record.Id);
      deliveries.push(toDelivery(cursors, channel, { position, change: 'observed', record }));
    }
    return { deliveries, end: placeOf(0) };
  };
  for await (const page of observations(readStore, { channel, fromBlock, after: 0, until: asOf })) yield toPage(page);
  const until = await observedUntil(readStore);
  for await (const page of observations(readStore, { channel, fromBlock, after: asOf, until })) yield toPage(page);
  yield { deliveries: [], end: { position: asOf, markedAtMs } };
}

/** Position of the observation by which a record stood at a position; `undefined`: it did not. */
const observedSince = (changes: readonly Position[], asOf: Position): Position | undefined => {
  const count = changes.filter((position) => position <= asOf).length;
  return count % 2 === 1 ? changes[count - 1] : undefined;
};
