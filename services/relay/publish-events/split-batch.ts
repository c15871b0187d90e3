import type { EventBatch, StoredEvent } from '../../../shared/event-store/event-store.ts';

const CHUNK_CHARACTERS_MAX = 4_000_000;

type Chunk = Pick<EventBatch, 'events' | 'position'>;

/** Splits a batch into chunks of limited size, so that the checkpoint advances within a batch of large events too. */
export function* splitBatch({ events, position }: Chunk): Generator<Chunk> {
  let chunk: StoredEvent[] = [];
  let characters = 0;
  for (const event of events) {
    const last = chunk.at(-1);
    if (last && characters + event.dataText.length > CHUNK_CHARACTERS_MAX) {
      yield { events: chunk, position: last.position };
      chunk = [];
      characters = 0;
    }
    chunk.push(event);
    characters += event.dataText.length;
  }
  yield { events: chunk, position };
}
