import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { Channel } from '../domain/channel.ts';
import { resumePointAfter, type Cursors } from '../domain/cursor.ts';
import { toDelivery, type Delivery, type Page } from '../domain/delivery.ts';
import { checkpointOfChainEvents, finalizedBlockOf, observations, type Observation } from '../edge/observations.ts';

interface CurrentRecordsOptions {
  readStore: ReadStore;
  cursors: Cursors;
  clock: Clock;
}

/**
 * Yields the records that were not reverted at the time of the call, each once, in the order of observation. The last
 * page ends at the position of that time; the topic has the changes after it. A record that a reorganisation removes
 * and adds again meanwhile moves beyond that position, where a second query finds it. Only records that are not final
 * can move, so only their ids are remembered, to send none twice.
 */
export async function* currentRecords(
  { readStore, cursors, clock }: CurrentRecordsOptions,
  channel: Channel,
  fromBlock: number,
): AsyncGenerator<Page, undefined> {
  const finalized = await finalizedBlockOf(readStore, channel.chainId);
  const newestAtMs = clock.now();
  const asOf = await checkpointOfChainEvents(readStore);
  // While the records are behind the chain, one of a final block may still be reverted in what was not projected yet.
  const finalizedBlock = asOf < finalized.position ? -1 : finalized.block;
  const sent = new Set<string>();
  const toPage = (found: readonly Observation[]): Page => {
    const deliveries: Delivery[] = [];
    for (const { record, changes } of found) {
      const position = currentObservation(changes, asOf);
      if (position === undefined || sent.has(record.Id)) continue;
      const isFinal = record.BlockNumber <= finalizedBlock;
      if (!isFinal) sent.add(record.Id);
      const status = isFinal ? 'finalized' : 'observed';
      deliveries.push(toDelivery(cursors, channel, { position, change: 'observed', status, record }));
    }
    return { deliveries, end: resumePointAfter(0) };
  };
  const read = (after: Position, until: Position) => observations(readStore, { channel, fromBlock, after, until });
  for await (const { found } of read(0, asOf)) yield toPage(found);
  const until = await checkpointOfChainEvents(readStore);
  for await (const { found } of read(asOf, until)) yield toPage(found);
  yield { deliveries: [], end: { position: asOf, newestAtMs } };
}

/** Returns the position of the newest observation as of a position; `undefined`: the record was not current then. */
const currentObservation = (changes: readonly Position[], asOf: Position): Position | undefined => {
  const count = changes.filter((position) => position <= asOf).length;
  return count % 2 === 1 ? changes[count - 1] : undefined;
};
