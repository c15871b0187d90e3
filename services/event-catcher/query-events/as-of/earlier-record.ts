import { observedRecord } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { EventRecord } from '../../../../schemas/http/event-catcher/event-record.ts';
import type { EventStore, Position, StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { recordIn, type ChainEventDocument } from '../../../../shared/read-models/event-catcher/chain-events.ts';

/** Whether a record was reverted at a position; `undefined` before it was first observed. */
export const wasReverted = ({ changes }: ChainEventDocument, asOf: Position): boolean | undefined => {
  const happened = changes.filter((position) => position <= asOf).length;
  return happened === 0 ? undefined : happened % 2 === 0;
};

/**
 * Returns records as they were at a position, at which each had been observed, in the same order. One that has changed
 * since is what the event of its newest change until then says: another provider may have told another value, or the
 * origin differs.
 */
export const recordsAsOf = async (
  eventStore: Pick<EventStore, 'readAll'>,
  documents: readonly ChainEventDocument[],
  asOf: Position,
): Promise<Omit<EventRecord, 'Status'>[]> => {
  const newest = documents.map(({ changes }) => {
    const then = changes.findLast((position) => position <= asOf);
    return then === changes.at(-1) ? undefined : then;
  });
  const events = await eventsAt(eventStore, new Set(newest.filter((position) => position !== undefined)));
  return documents.map((document, at) => {
    const position = newest[at];
    if (position === undefined) return recordIn(document);
    const event = events.get(position);
    if (event) return observedRecord.parse(event.data);
    throw new Error(`the event store has no event of record ${document.Id} at ${String(position)}`);
  });
};

/** A record may have half a megabyte. */
const EVENTS_MAX = 128;
/** Reading so many events at once takes no longer than a read of its own for one of them. */
const WORTH_EVENTS = 8;

/**
 * Returns the events at these positions. Records that were corrected together are mostly stored side by side, but what
 * lies between two positions is not known: so the next read is larger if enough of the last one was wanted.
 */
const eventsAt = async (
  eventStore: Pick<EventStore, 'readAll'>,
  positions: ReadonlySet<Position>,
): Promise<Map<Position, StoredEvent>> => {
  const found = new Map<Position, StoredEvent>();
  let limit = 1;
  for (const position of [...positions].sort((one, other) => one - other)) {
    if (found.has(position)) continue;
    const { events } = await eventStore.readAll(position - 1, undefined, limit);
    const wanted = events.filter((event) => positions.has(event.position));
    for (const event of wanted) found.set(event.position, event);
    limit = wanted.length * WORTH_EVENTS >= limit ? Math.min(EVENTS_MAX, limit * 2) : Math.ceil(limit / 2);
  }
  return found;
};
