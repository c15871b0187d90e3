import { randomUUID } from 'node:crypto';
import { eventCatalogue, type EventType } from '../../schemas/events/catalogue.ts';
import type { EventMetadata } from '../../schemas/events/event.ts';
import { eventExamples } from '../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { EventToAppend, StoredEvent } from '../event-store/event-store.ts';
import { LazyStoredEvent } from '../event-store/stored-event.ts';

export const someMetadata: EventMetadata = { correlationId: 'request-1', actor: { type: 'system', id: 'test' } };

/** Makes an event that is ready to append. Events differ only in the given members and their ids. */
export const anEvent = ({
  type = 'Happened',
  data = {},
  time = 1_700_000_000_000,
}: { type?: string; data?: JsonObject; time?: number } = {}): EventToAppend => ({
  id: randomUUID(),
  type,
  schemaVersion: 1,
  time,
  data,
  metadata: someMetadata,
});

type Example<Type extends EventType> = (typeof eventExamples)[Type];

/**
 * An event as the store returns it: the example of its type, with the given members of its data replaced. Members that
 * are `undefined` are left out.
 */
export const storedEvent = <Type extends EventType>(
  type: Type,
  data: { [Member in keyof Example<Type>]?: Example<Type>[Member] | undefined },
  {
    position,
    stream = 'stream',
    revision = 0,
    time = 1_700_000_000_000,
    metadata = someMetadata,
  }: Pick<StoredEvent, 'position'> & Partial<Pick<StoredEvent, 'stream' | 'revision' | 'time' | 'metadata'>>,
): StoredEvent =>
  new LazyStoredEvent(
    position,
    stream,
    revision,
    randomUUID(),
    type,
    eventCatalogue[type].version,
    time,
    JSON.stringify({ ...eventExamples[type], ...data }),
    JSON.stringify(metadata),
  );
