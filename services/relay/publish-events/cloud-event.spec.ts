import { describe, expect, it } from '@jest/globals';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { LazyStoredEvent } from '../../../shared/event-store/stored-event.ts';
import { toCloudEvent, toParked } from './cloud-event.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const metadata: EventMetadata = { correlationId: 'request-1', actor: { type: 'user', id: 'usr_1' } };
const stored = ({ time = NOON, more = {} }: { time?: number; more?: Partial<EventMetadata> } = {}) =>
  new LazyStoredEvent(
    ...([42, 'user-usr_1', 7, 'a3bb189e', 'ProfileUpdated', 2, time] as const),
    '{"userId": "usr_1"}',
    JSON.stringify({ ...metadata, ...more }),
  );
const identity = {
  'content-type': 'application/json',
  ce_specversion: '1.0',
  ce_id: 'a3bb189e',
  ce_type: 'annals.ProfileUpdated.v2',
  ce_source: '/annals/event-store',
  ce_subject: 'user-usr_1',
  ce_sequence: '7',
  ce_position: '42',
};

describe('an event as a CloudEvent', () => {
  it('has its attributes as headers and the stored data, unchanged, as its value', () => {
    expect(toCloudEvent(stored(), 'usr_1')).toStrictEqual({
      key: 'usr_1',
      headers: {
        ...identity,
        ce_time: '2026-01-02T12:00:00.000Z',
        ce_dataschema: 'https://annals.dev/schemas/ProfileUpdated.v2.json',
        ce_correlationid: 'request-1',
      },
      value: '{"userId": "usr_1"}',
      timestamp: NOON,
    });
  });

  it('names the event that caused it and its trace when the metadata has them', () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const { headers } = toCloudEvent(stored({ more: { causationId: 'b4cc', traceparent } }), 'usr_1');
    expect(headers).toMatchObject({ ce_causationid: 'b4cc', traceparent });
  });
});

describe('an operation that was submitted', () => {
  const { operation, ...submitted } = eventExamples.TxSubmitted;
  const { signature, ...published } = operation;
  const event = (data: object) =>
    new LazyStoredEvent(
      ...([42, 'transaction-tx_1', 0, 'a3bb189e', 'TxSubmitted', 1, NOON] as const),
      ...([JSON.stringify(data), JSON.stringify(metadata)] as const),
    );

  it('is published whole but for its signature, and parked likewise', () => {
    const stored = event({ ...submitted, operation: { ...operation, more: 1 } });
    for (const { value } of [toCloudEvent(stored, 'key'), toParked(stored, 'key', 'reason')]) {
      expect(value).not.toContain(signature.slice(2));
      expect(JSON.parse(String(value))).toEqual({ ...submitted, operation: { ...published, more: 1 } });
    }
  });

  it.each([{ operation: signature }, { signature }])(
    'is parked without its data where that has no operation',
    (data) => {
      expect(() => toCloudEvent(event(data), 'key')).toThrow('TxSubmitted has no operation');
      expect(toParked(event(data), 'key', 'reason').value).toBeNull();
    },
  );
});

describe('an event that cannot be published', () => {
  it('is parked with its identity, the reason and the policy "continue"', () => {
    expect(toParked(stored(), 'usr_1', 'its time is not a date')).toEqual({
      key: 'usr_1',
      headers: { ...identity, ce_parkedreason: 'its time is not a date', ce_parkedpolicy: 'continue' },
      value: '{"userId": "usr_1"}',
      timestamp: NOON,
    });
  });

  it('is parked with timestamp 0 when its own time is not valid', () => {
    expect(toParked(stored({ time: 0.5 }), 'usr_1', 'reason').timestamp).toBe(0);
  });

  it('is parked with the first 500 characters of a longer reason', () => {
    expect(toParked(stored(), 'usr_1', 'x'.repeat(501)).headers['ce_parkedreason']).toBe('x'.repeat(500));
  });
});
