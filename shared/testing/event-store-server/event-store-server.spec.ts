import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  ANY,
  BACKWARDS,
  END,
  EventStoreDBClient,
  FORWARDS,
  NO_STREAM,
  START,
  STREAM_EXISTS,
  eventTypeFilter,
  jsonEvent,
  streamNameFilter,
  type AllStreamSubscription,
  type AppendExpectedRevision,
  type EventData,
  type Filter,
  type Position,
} from '@eventstore/db-client';
import { eventually } from '../eventually.ts';
import { EventStoreServer } from './event-store-server.esdb.ts';

/** As recorded on a server of version 24.6.0. */
describe('the stand-in for EventStoreDB', () => {
  let server: EventStoreServer;
  let client: EventStoreDBClient;
  const subscriptions: AllStreamSubscription[] = [];
  beforeEach(async () => {
    server = await EventStoreServer.start();
    client = EventStoreDBClient.connectionString(server.url);
  });
  afterEach(async () => {
    for (const subscription of subscriptions.splice(0)) await subscription.unsubscribe();
    await client.dispose();
    await server.close();
  });

  const anEvent = (type = 'Happened') =>
    jsonEvent({ id: randomUUID(), type, data: { text: 'grüße' }, metadata: { by: 'test' } });
  const append = async (stream: string, expectedRevision: AppendExpectedRevision, events: EventData[] = [anEvent()]) =>
    Number((await client.appendToStream(stream, events, { expectedRevision })).nextExpectedRevision);
  const revisions = async (stream: string, options: Parameters<EventStoreDBClient['readStream']>[1] = {}) => {
    const read: number[] = [];
    for await (const { event } of client.readStream(stream, options)) read.push(Number(event?.revision));
    return read;
  };
  /** What a subscription to everything has given so far. */
  const subscribe = (options: { fromPosition?: Position; filter?: Filter }) => {
    const seen = { events: [] as string[], isConfirmed: false, isCaughtUp: false };
    const subscription = client.subscribeToAll(options);
    subscriptions.push(subscription);
    subscription.on('confirmation', () => (seen.isConfirmed = true));
    subscription.on('caughtUp', () => (seen.isCaughtUp = true));
    subscription.on('error', () => undefined);
    subscription.on('data', ({ event }) => event && seen.events.push(`${event.streamId}@${String(event.revision)}`));
    return seen;
  };

  it('takes an append at the revision expected, and the same events again as the same append', async () => {
    const events = [anEvent(), anEvent(), anEvent()];
    expect(await append('a', NO_STREAM, events)).toBe(2);
    expect(await append('a', NO_STREAM, events)).toBe(2);
    expect(await append('a', NO_STREAM, events.slice(0, 1))).toBe(0);
    const next = [anEvent()];
    expect([await append('a', 2n, next), await append('a', 2n, next), await append('a', ANY, next)]).toEqual([3, 3, 3]);
    expect(await append('a', STREAM_EXISTS)).toBe(4);
    expect(await append('b', ANY)).toBe(0);
  });

  it.each<[string, AppendExpectedRevision, bigint | string]>([
    ['a', NO_STREAM, 1n],
    ['a', 0n, 1n],
    ['a', 99n, 1n],
    ['none', STREAM_EXISTS, 'no_stream'],
    ['none', 0n, 'no_stream'],
  ])('refuses an append to %s at %s, naming %s', async (stream, expected, actualVersion) => {
    const stored = [anEvent(), anEvent()];
    await append('a', NO_STREAM, stored);
    await expect(append(stream, expected)).rejects.toMatchObject({
      type: 'wrong-expected-version',
      streamName: stream,
      expectedVersion: expected,
      actualVersion,
    });
    await expect(append('a', 0n, [...stored.slice(1), anEvent()])).rejects.toMatchObject({
      type: 'wrong-expected-version',
    });
  });

  it('refuses more than a mebibyte at once', async () => {
    const events = Array.from({ length: 11 }, () => jsonEvent({ type: 'Large', data: { pad: 'x'.repeat(100_000) } }));
    await expect(append('a', NO_STREAM, events)).rejects.toMatchObject({
      type: 'maximum-append-size-exceeded',
      maxAppendSize: 1_048_576,
    });
  });

  it('reads a stream from both ends, and says which one is not there', async () => {
    await append('a', NO_STREAM, [anEvent(), anEvent(), anEvent()]);
    expect(await revisions('a', { direction: FORWARDS, fromRevision: 1n })).toEqual([1, 2]);
    expect(await revisions('a', { direction: FORWARDS, fromRevision: START, maxCount: 2 })).toEqual([0, 1]);
    expect(await revisions('a', { direction: BACKWARDS, fromRevision: END, maxCount: 2 })).toEqual([2, 1]);
    expect(await revisions('a', { direction: BACKWARDS, fromRevision: 1n })).toEqual([1, 0]);
    expect(await revisions('a', { fromRevision: 50n })).toEqual([]);
    await expect(revisions('none')).rejects.toMatchObject({ type: 'stream-not-found', streamName: 'none' });
  });

  it('hides what the metadata of a stream says, and replaces metadata as a whole', async () => {
    await append('a', NO_STREAM, [anEvent(), anEvent(), anEvent()]);
    await client.setStreamMetadata('a', { maxCount: 2 });
    expect(await revisions('a')).toEqual([1, 2]);
    await client.setStreamMetadata('a', { truncateBefore: 1 });
    expect((await client.getStreamMetadata('a')).metadata).toEqual({ truncateBefore: 1 });
    expect(await append('a', 2n)).toBe(3);
    expect(await revisions('a')).toEqual([1, 2, 3]);
  });

  it('counts on in a stream that was deleted, and never again in one that has a tombstone', async () => {
    await append('a', NO_STREAM);
    await client.deleteStream('a');
    await expect(revisions('a')).rejects.toMatchObject({ type: 'stream-not-found' });
    expect(await append('a', NO_STREAM)).toBe(1);
    expect(await revisions('a')).toEqual([1]);
    await expect(client.deleteStream('a', { expectedRevision: 0n })).rejects.toMatchObject({ actualVersion: 1n });
    await client.tombstoneStream('a');
    await expect(revisions('a')).rejects.toMatchObject({ type: 'stream-deleted' });
    await expect(append('a', ANY)).rejects.toMatchObject({ type: 'stream-deleted', streamName: 'a' });
  });

  it('gives everything in order: a read includes its first position, a subscription does not', async () => {
    await append('a', NO_STREAM, [anEvent(), anEvent()]);
    await append('b', NO_STREAM, [anEvent()]);
    const all: { name: string; position: Position }[] = [];
    for await (const { event } of client.readAll({ fromPosition: START })) {
      if (event) all.push({ name: `${event.streamId}@${String(event.revision)}`, position: event.position });
    }
    expect(all.map(({ name }) => name)).toEqual(['a@0', 'a@1', 'b@0']);
    const fromPosition = all[1]?.position ?? { commit: 0n, prepare: 0n };
    const read: unknown[] = [];
    for await (const { event } of client.readAll({ fromPosition })) read.push(event?.revision);
    expect(read).toEqual([1n, 0n]);
    const seen = subscribe({ fromPosition });
    await eventually(() => seen.isCaughtUp, 2_000, 'the subscription must catch up');
    await append('a', 1n);
    await eventually(() => seen.events.length === 2, 2_000, 'the subscription must give what comes');
    expect(seen).toEqual({ events: ['b@0', 'a@2'], isConfirmed: true, isCaughtUp: true });
  });

  it.each<[string, Filter]>([
    ['stream prefixes', streamNameFilter({ prefixes: ['b', 'c'] })],
    ['a stream regex', streamNameFilter({ regex: '^[bc]$' })],
    ['type prefixes', eventTypeFilter({ prefixes: ['Oth'] })],
    ['a type regex', eventTypeFilter({ regex: '^Other$' })],
  ])('filters by %s', async (_, filter) => {
    await append('a', NO_STREAM);
    await append('b', NO_STREAM, [anEvent('Other')]);
    await append('c', NO_STREAM, [anEvent('Other')]);
    const seen = subscribe({ filter });
    await eventually(() => seen.isCaughtUp, 2_000, 'the subscription must catch up');
    expect(seen.events).toEqual(['b@0', 'c@0']);
  });

  it('reports checkpoints behind what a filter leaves out, from which a subscription goes on', async () => {
    for (let revision = 0; revision < 100; revision += 1)
      await append('a', revision === 0 ? NO_STREAM : BigInt(revision - 1));
    const checkpoints: Position[] = [];
    const checkpointReached = (_: unknown, position: Position) => void checkpoints.push(position);
    const seen = subscribe({ filter: streamNameFilter({ prefixes: ['b'], checkpointReached }) });
    await eventually(() => seen.isCaughtUp, 2_000, 'the subscription must catch up');
    expect(checkpoints.length).toBe(3);
    const last = checkpoints.at(-1);
    expect(last?.prepare).toBe(0n);
    const rest = last && subscribe({ fromPosition: last });
    await eventually(() => rest?.isCaughtUp, 2_000, 'the second subscription must catch up');
    expect(rest?.events).toEqual(['a@96', 'a@97', 'a@98', 'a@99']);
  });
});
