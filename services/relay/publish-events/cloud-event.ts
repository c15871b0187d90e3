import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { MessageToPublish } from '../../../shared/message-bus/message-bus.ts';
import { toIso } from '../../../shared/primitives/clock.ts';

/** CloudEvents 1.0 in Kafka's binary mode: the attributes as headers, the event's data as it is stored as the value. */
export const toCloudEvent = (event: StoredEvent, key: string): MessageToPublish => {
  const { correlationId, causationId, traceparent } = event.metadata;
  const type = `${event.type}.v${String(event.schemaVersion)}`;
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    ce_specversion: '1.0',
    ce_id: event.id,
    ce_type: `annals.${type}`,
    ce_source: '/annals/event-store',
    ce_subject: event.stream,
    ce_time: toIso(event.time),
    ce_dataschema: `https://annals.dev/schemas/${type}.json`,
    ce_sequence: String(event.revision),
    ce_position: String(event.position),
    ce_correlationid: correlationId,
  };
  if (causationId !== undefined) headers['ce_causationid'] = causationId;
  if (traceparent !== undefined) headers['traceparent'] = traceparent;
  return { key, headers, value: event.dataText, timestamp: event.time };
};
