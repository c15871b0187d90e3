import { randomUUID } from 'node:crypto';
import type { EventMetadata } from '../../schemas/events/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { EventToAppend } from '../event-store/event-store.ts';

export const someMetadata: EventMetadata = { correlationId: 'request-1', actor: { type: 'system', id: 'test' } };

/** An event ready to append; only what is named differs from the next. */
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
