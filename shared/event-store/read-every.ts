import type { EventFilter, EventStore, Position, StoredEvent } from './event-store.ts';

const EVENTS_PER_READ = 1_000;

interface ReadEveryOptions {
  after?: Position;
  filter?: EventFilter;
  /** Events per read: fewer for a reader who needs only some. */
  atOnce?: number;
}

/** Yields all events after a position, up to the newest at the end of the read. */
export async function* readEvery(
  eventStore: Pick<EventStore, 'readAll'>,
  { after = 0, filter, atOnce = EVENTS_PER_READ }: ReadEveryOptions = {},
): AsyncGenerator<StoredEvent, void, undefined> {
  for (let from = after; ;) {
    const batch = await eventStore.readAll(from, filter, atOnce);
    yield* batch.events;
    if (batch.caughtUp) return;
    from = batch.position;
  }
}
