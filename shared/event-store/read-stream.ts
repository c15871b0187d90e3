import type { EventStore, StoredEvent } from './event-store.ts';

const EVENTS_PER_READ = 100;

/** Yields the events of a stream, oldest first, in pieces. */
export async function* readStream(
  eventStore: Pick<EventStore, 'read'>,
  stream: string,
): AsyncGenerator<StoredEvent, void, undefined> {
  for (let from = 0; ;) {
    const events = await eventStore.read(stream, { from, limit: EVENTS_PER_READ });
    yield* events;
    if (events.length < EVENTS_PER_READ) return;
    from = (events.at(-1)?.revision ?? from) + 1;
  }
}
