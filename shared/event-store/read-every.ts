import type { EventFilter, EventStore, Position, StoredEvent } from './event-store.ts';

const EVENTS_PER_READ = 1_000;

/** Yields all events after a position that there are when it comes to the end. */
export async function* readEvery(
  eventStore: Pick<EventStore, 'readAll'>,
  { after = 0, filter }: { after?: Position; filter?: EventFilter } = {},
): AsyncGenerator<StoredEvent, void, undefined> {
  for (let from = after; ;) {
    const batch = await eventStore.readAll(from, filter, EVENTS_PER_READ);
    yield* batch.events;
    if (batch.caughtUp) return;
    from = batch.position;
  }
}
