import { eventCatalogue } from '../../../schemas/events/catalogue.ts';
import { dataSchemaUrl, type EventDefinition } from '../../../schemas/events/event.ts';
import { asStored } from '../../../schemas/events/upcast.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { MessageToPublish } from '../../../shared/message-bus/message-bus.ts';
import { toIso } from '../../../shared/primitives/clock.ts';

/** Longer reasons are nested messages of a driver, of which the beginning suffices. */
const REASON_CHARACTERS_MAX = 500;
const SOURCE = '/annals/event-store';
const typeOf = ({ type, schemaVersion }: StoredEvent): string => `${type}.v${String(schemaVersion)}`;

/** CloudEvents 1.0 in Kafka's binary mode: the attributes as headers, the event's data as the value. */
export const toCloudEvent = (event: StoredEvent, key: string): MessageToPublish => {
  const { correlationId, causationId, traceparent } = event.metadata;
  const headers: Record<string, string> = {
    ...identityOf(event),
    ce_time: toIso(event.time),
    ce_dataschema: dataSchemaUrl(event.type, event.schemaVersion),
    ce_correlationid: correlationId,
  };
  if (causationId !== undefined) headers['ce_causationid'] = causationId;
  if (traceparent !== undefined) headers['traceparent'] = traceparent;
  return { key, headers, value: publishedText(event), timestamp: event.time };
};

/** The members that are not published, by the type of the event. */
const unpublished = new Map(
  Object.entries<EventDefinition>(eventCatalogue).flatMap(([type, definition]) => {
    const members = Object.entries(definition.unpublished);
    return members.length > 0 ? [[type, members] as const] : [];
  }),
);

/**
 * Returns the stored data without the members that are not published.
 * @throws if they cannot be separated from the rest
 */
const publishedText = (event: StoredEvent): string => {
  const { type } = event;
  const members = unpublished.get(type);
  if (!members) return event.dataText;
  const data = { ...asStored(event) };
  for (const [member, hidden] of members) {
    const value = data[member];
    if (typeof value !== 'object' || value === null) throw new Error(`${type} has no ${member}`);
    data[member] = Object.fromEntries(Object.entries(value as JsonObject).filter(([name]) => !hidden.includes(name)));
  }
  return JSON.stringify(data);
};

/** The headers that every stored event gets, even an event that is parked because the rest of it is not valid. */
const identityOf = (event: StoredEvent): Record<string, string> => ({
  'content-type': 'application/json',
  ce_specversion: '1.0',
  ce_id: event.id,
  ce_type: `annals.${typeOf(event)}`,
  ce_source: SOURCE,
  ce_subject: event.stream,
  ce_sequence: String(event.revision),
  ce_position: String(event.position),
});

/**
 * Returns the message for the parked topic. Its headers say why the event was parked, and that later events of the key
 * were published.
 */
export const toParked = (event: StoredEvent, key: string, reason: string): MessageToPublish => ({
  key,
  headers: {
    ...identityOf(event),
    ce_parkedreason: reason.slice(0, REASON_CHARACTERS_MAX),
    ce_parkedpolicy: 'continue',
  },
  value: parkedText(event),
  timestamp: Number.isSafeInteger(event.time) ? event.time : 0,
});

const parkedText = (event: StoredEvent): string | null => {
  if (!unpublished.has(event.type)) return event.dataText;
  try {
    return publishedText(event);
  } catch {
    return null;
  }
};
