import { dataSchemaUrl } from '../../../schemas/events/event.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { MessageToPublish } from '../../../shared/message-bus/message-bus.ts';
import { toIso } from '../../../shared/primitives/clock.ts';

/** Longer reasons are nested messages of a driver, of which the beginning is enough. */
const REASON_CHARACTERS_MAX = 500;
const SOURCE = '/annals/event-store';
const typeOf = ({ type, schemaVersion }: StoredEvent): string => `${type}.v${String(schemaVersion)}`;

/** CloudEvents 1.0 in Kafka's binary mode: the attributes as headers, the event's data as it is stored as the value. */
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
  return { key, headers, value: event.dataText, timestamp: event.time };
};

/** The headers that every stored event has, also one that is parked because the rest of it is not valid. */
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

/** The message for the parked topic: its headers say why, and that the later events of the key were published. */
export const toParked = (event: StoredEvent, key: string, reason: string): MessageToPublish => ({
  key,
  headers: {
    ...identityOf(event),
    ce_parkedreason: reason.slice(0, REASON_CHARACTERS_MAX),
    ce_parkedpolicy: 'continue',
  },
  value: event.dataText,
  timestamp: Number.isSafeInteger(event.time) ? event.time : 0,
});
