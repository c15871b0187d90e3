import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { Channel } from '../domain/channel.ts';
import type { Cursors } from '../../../shared/keys/stream-cursors.ts';
import { toDelivery, type Delivery, type Page } from '../domain/delivery.ts';
import type { HistoryPoint } from '../domain/feed.ts';
import { checkpointOfChainEvents, finalizedBlockOf, observations, type ObservationPage } from '../edge/observations.ts';

interface CurrentRecordsOptions {
  readStore: ReadStore;
  cursors: Cursors;
  clock: Clock;
}

/**
 * Yields the records that were not reverted at the time of the call, or at an earlier one, each once, in the order of
 * observation. The last page ends at the position of that time; the topic has the changes after it. A record that a reorganisation removes
 * and adds again meanwhile moves beyond that position, where a second query finds it. Only records that are not final
 * can move, so only their ids are remembered, to avoid sending one twice. A history that goes on elsewhere may send
 * such a record again, with the same cursor.
 */
export async function* currentRecords(
  { readStore, cursors, clock }: CurrentRecordsOptions,
  channel: Channel,
  { fromBlock, begun, limit }: HistoryPoint,
): AsyncGenerator<Page, undefined> {
  const finalized = await finalizedBlockOf(readStore, channel.chainId);
  const newestAtMs = begun ? begun.newestAtMs : clock.now();
  const known = await checkpointOfChainEvents(readStore);
  const asOf = Math.min(known, begun?.asOf ?? known);
  // While the read model of records is behind that of chains, a record of a final block may still be reverted by an
  // event that was not projected yet.
  const finalizedBlock = known < finalized.position ? -1 : finalized.block;
  const sent = new Set<string>();
  const toPage = ({ found, reached }: ObservationPage): Page => {
    const deliveries: Delivery[] = [];
    for (const { record, changes, reverted } of found) {
      const position = currentObservation(changes, asOf);
      if (position === undefined || sent.has(record.Id)) continue;
      const isFinal = record.BlockNumber <= finalizedBlock && !reverted;
      if (!isFinal) sent.add(record.Id);
      const status = isFinal ? 'finalized' : 'observed';
      deliveries.push(toDelivery(cursors, channel, { position, change: 'observed', status, record }));
    }
    return { deliveries, end: { position: reached, newestAtMs, historyFrom: fromBlock, asOf } };
  };
  const read = (after: Position, until: Position) =>
    observations(readStore, { channel, fromBlock, after, until, limit });
  const after = begun?.position ?? 0;
  for await (const page of read(after, asOf)) yield toPage(page);
  const until = await checkpointOfChainEvents(readStore);
  for await (const page of read(Math.max(after, asOf), until)) yield toPage(page);
  yield { deliveries: [], end: { position: asOf, newestAtMs } };
}

/** Returns the position of the newest observation as of a position; `undefined` if the record was not current then. */
const currentObservation = (changes: readonly Position[], asOf: Position): Position | undefined => {
  const count = changes.filter((position) => position <= asOf).length;
  return count % 2 === 1 ? changes[count - 1] : undefined;
};
