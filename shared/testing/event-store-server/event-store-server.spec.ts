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
  binaryEvent,
  eventTypeFilter,
  jsonEvent,
  streamNameFilter,
  type AppendExpectedRevision,
  type EventData,
  type Filter,
  type Position,
  type StreamSubscription,
} from '@eventstore/db-client';
import { eventually } from '../eventually.ts';
import { EventStoreServer } from './event-store-server.esdb.ts';

/** As recorded from a server of version 24.6.0. */
describe('the stand-in for EventStoreDB', () => {
  let server: EventStoreServer;
  let client: EventStoreDBClient;
  const subscriptions: Pick<StreamSubscription, 'unsubscribe'>[] = [];
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
  /** Collects what a subscription delivers. */
  const watch = (subscription: StreamSubscription) => {
    const seen = { events: [] as string[], isConfirmed: false, isCaughtUp: false, endings: [] as unknown[] };
    subscriptions.push(subscription);
    subscription.on('confirmation', () => (seen.isConfirmed = true));
    subscription.on('caughtUp', () => (seen.isCaughtUp = true));
    subscription.on('error', (error) => seen.endings.push('type' in error ? error.type : error));
    for (const ending of ['end', 'close'] as const) subscription.on(ending, () => seen.endings.push(ending));
    subscription.on('data', ({ event }) => event && seen.events.push(`${event.streamId}@${String(event.revision)}`));
    return seen;
  };
  const subscribe = (options: { fromPosition?: Position; filter?: Filter }) => watch(client.subscribeToAll(options));

  it('accepts an append at the expected revision, and treats the same events as the same append', async () => {
    const events = [anEvent(), anEvent(), anEvent()];
    expect(await append('a', NO_STREAM, events)).toBe(2);
    expect(await append('a', NO_STREAM, events)).toBe(2);
    expect(await append('a', NO_STREAM, events.slice(0, 1))).toBe(0);
    const next = [anEvent()];
    expect([await append('a', 2n, next), await append('a', 2n, next), await append('a', ANY, next)]).toEqual([3, 3, 3]);
    expect(await append('a', STREAM_EXISTS)).toBe(4);
    expect(await append('b', ANY)).toBe(0);
  });

  it('accepts an append of no events, and of two thousand', async () => {
    const many = Array.from({ length: 2_000 }, () => anEvent());
    // The client's default deadline of 10 s is too short for this append on a busy machine.
    const appended = await client.appendToStream('a', many, { expectedRevision: NO_STREAM, deadline: 240_000 });
    expect(appended.nextExpectedRevision).toBe(1_999n);
    expect(await append('a', 1_999n, [])).toBe(1_999);
    expect(await revisions('a')).toEqual(many.map((_, index) => index));
  });

  it('lets one of many appends win', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 64 }, () => append('a', NO_STREAM)));
    const lost = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? (outcome.reason as unknown) : []));
    expect(lost).toHaveLength(63);
    for (const error of lost) expect(error).toMatchObject({ type: 'wrong-expected-version', actualVersion: 0n });
  });

  it('returns JSON and bytes as they were written', async () => {
    const json = jsonEvent({ id: randomUUID(), type: 'Other', data: { text: 'grüße 🌍', list: [1, 2.5, null, true] } });
    const [data, metadata] = [new Uint8Array([0, 255, 16]), new Uint8Array([10])];
    const bytes = binaryEvent({ id: randomUUID(), type: 'Raw', data, metadata });
    await append('a', NO_STREAM, [json, bytes]);
    const read = [];
    for await (const { event } of client.readStream('a')) read.push(event);
    expect(read).toMatchObject([
      { streamId: 'a', revision: 0n, id: json.id, type: 'Other', data: json.data, isJson: true },
      { streamId: 'a', revision: 1n, id: bytes.id, type: 'Raw', isJson: false },
    ]);
    expect([read[1]?.data, read[1]?.metadata].map((part) => Buffer.from(part as Uint8Array))).toEqual(
      [data, metadata].map((part) => Buffer.from(part)),
    );
    for (const event of read) {
      expect(event?.created).toBeInstanceOf(Date);
      expect(event?.position?.prepare).toBe(event?.position?.commit);
    }
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

  it('refuses an append of more than a mebibyte', async () => {
    const events = Array.from({ length: 11 }, () => jsonEvent({ type: 'Large', data: { pad: 'x'.repeat(100_000) } }));
    await expect(append('a', NO_STREAM, events)).rejects.toMatchObject({
      type: 'maximum-append-size-exceeded',
      maxAppendSize: 1_048_576,
    });
  });

  it('reads a stream forwards and backwards, and reports a missing one', async () => {
    await append('a', NO_STREAM, [anEvent(), anEvent(), anEvent()]);
    expect(await revisions('a', { direction: FORWARDS, fromRevision: 1n })).toEqual([1, 2]);
    expect(await revisions('a', { direction: FORWARDS, fromRevision: START, maxCount: 2 })).toEqual([0, 1]);
    expect(await revisions('a', { direction: BACKWARDS, fromRevision: END, maxCount: 2 })).toEqual([2, 1]);
    expect(await revisions('a', { direction: BACKWARDS, fromRevision: 1n })).toEqual([1, 0]);
    expect(await revisions('a', { fromRevision: 50n })).toEqual([]);
    await expect(revisions('none')).rejects.toMatchObject({ type: 'stream-not-found', streamName: 'none' });
  });

  it('hides events by the metadata of a stream, and replaces metadata as a whole', async () => {
    await append('a', NO_STREAM, [anEvent(), anEvent(), anEvent()]);
    await client.setStreamMetadata('a', { maxCount: 2 });
    expect(await revisions('a')).toEqual([1, 2]);
    expect(await revisions('a', { direction: BACKWARDS, fromRevision: END })).toEqual([2, 1]);
    expect(await revisions('a', { maxCount: 1 })).toEqual([1]);
    await client.setStreamMetadata('a', { truncateBefore: 1 });
    expect((await client.getStreamMetadata('a')).metadata).toEqual({ truncateBefore: 1 });
    expect((await client.getStreamMetadata('none')).metadata).toBeUndefined();
    expect(await append('a', 2n)).toBe(3);
    expect(await revisions('a')).toEqual([1, 2, 3]);
  });

  it('continues the revisions of a deleted stream, and refuses appends to one with a tombstone', async () => {
    await append('a', NO_STREAM);
    await client.setStreamMetadata('a', { maxCount: 1 });
    expect((await client.deleteStream('a')).position).toBeDefined();
    await expect(revisions('a')).rejects.toMatchObject({ type: 'stream-not-found' });
    expect(await append('a', NO_STREAM)).toBe(1);
    expect(await append('a', 1n)).toBe(2);
    expect(await revisions('a')).toEqual([1, 2]);
    await expect(client.deleteStream('a', { expectedRevision: 0n })).rejects.toMatchObject({ actualVersion: 2n });
    expect((await client.tombstoneStream('a')).position).toBeDefined();
    await expect(revisions('a')).rejects.toMatchObject({ type: 'stream-deleted' });
    await expect(append('a', ANY)).rejects.toMatchObject({ type: 'stream-deleted', streamName: 'a' });
    await expect(client.tombstoneStream('a')).rejects.toMatchObject({ type: 'stream-deleted', streamName: 'a' });
  });

  it('delivers all events in order: a read includes its first position, a subscription does not', async () => {
    await append('a', NO_STREAM, [anEvent(), anEvent()]);
    await append('b', NO_STREAM, [anEvent()]);
    const all: { name: string; position: Position }[] = [];
    for await (const { event } of client.readAll({ fromPosition: START })) {
      if (event) all.push({ name: `${event.streamId}@${String(event.revision)}`, position: event.position });
    }
    expect(all.map(({ name }) => name)).toEqual(['$users@0', 'a@0', 'a@1', 'b@0']);
    const newest: unknown[] = [];
    for await (const { event } of client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 2 })) {
      newest.push(event?.streamId, event?.revision);
    }
    expect(newest).toEqual(['b', 0n, 'a', 1n]);
    const fromPosition = all[2]?.position ?? { commit: 0n, prepare: 0n };
    const read: unknown[] = [];
    for await (const { event } of client.readAll({ fromPosition })) read.push(event?.revision);
    expect(read).toEqual([1n, 0n]);
    const seen = subscribe({ fromPosition });
    await eventually(() => seen.isCaughtUp, 2_000, 'the subscription must catch up');
    await append('a', 1n);
    await eventually(() => seen.events.length === 2, 2_000, 'the subscription must deliver new events');
    expect(seen).toEqual({ events: ['b@0', 'a@2'], isConfirmed: true, isCaughtUp: true, endings: [] });
  });

  it('follows one stream, also from a revision on, and one that does not exist yet', async () => {
    await append('a', NO_STREAM, [anEvent(), anEvent(), anEvent()]);
    const [whole, rest, late] = [
      watch(client.subscribeToStream('a', { fromRevision: START })),
      watch(client.subscribeToStream('a', { fromRevision: 1n })),
      watch(client.subscribeToStream('late', { fromRevision: START })),
    ];
    await eventually(
      () => whole.isCaughtUp && rest.isCaughtUp && late.isCaughtUp,
      2_000,
      'all subscriptions must catch up',
    );
    expect([whole.events, rest.events, late.events]).toEqual([['a@0', 'a@1', 'a@2'], ['a@2'], []]);
    await append('late', NO_STREAM);
    await eventually(() => late.events.length === 1, 2_000, 'the subscription must deliver new events');
    expect(late).toEqual({ events: ['late@0'], isConfirmed: true, isCaughtUp: true, endings: [] });
  });

  it('ends a subscription with its connection, by exactly one error', async () => {
    const seen = subscribe({});
    await eventually(() => seen.isCaughtUp, 2_000, 'the subscription must catch up');
    await server.restart();
    await eventually(() => seen.endings.length > 0, 2_000, 'the subscription must end');
    await append('a', NO_STREAM);
    expect(seen).toEqual({ events: ['$users@0'], isConfirmed: true, isCaughtUp: true, endings: ['unavailable'] });
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

  it('tells a live subscription that it fell behind, and again that it has caught up', async () => {
    const told: string[] = [];
    const subscription = client.subscribeToAll({});
    for (const state of ['caughtUp', 'fellBehind'] as const) subscription.on(state, () => told.push(state));
    const seen = watch(subscription);
    await eventually(() => seen.isCaughtUp, 2_000, 'the subscription must catch up');
    await append(
      'a',
      NO_STREAM,
      Array.from({ length: 20 }, () => anEvent()),
    );
    await eventually(() => seen.events.length === 21, 2_000, 'it must deliver a few new events');
    expect(told).toEqual(['caughtUp']);
    await append(
      'b',
      NO_STREAM,
      Array.from({ length: 100 }, () => anEvent()),
    );
    await eventually(() => told.length === 3, 2_000, 'it must catch up again');
    expect(told).toEqual(['caughtUp', 'fellBehind', 'caughtUp']);
    expect(seen.events).toHaveLength(121);
  });

  it('has events of its own, the newest of all among them', async () => {
    const seen = subscribe({});
    await append('a', NO_STREAM);
    server.writeStatistics();
    await eventually(() => seen.events.length === 3, 2_000, 'it must deliver them too');
    expect(seen.events).toEqual(['$users@0', 'a@0', '$stats-127.0.0.1:2113@0']);
  });

  it('reports checkpoints after filtered events, from which a subscription can resume', async () => {
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
    expect(rest?.events).toEqual(['a@95', 'a@96', 'a@97', 'a@98', 'a@99']);
  });

  it('refuses an append after its deadline, by its own clock', async () => {
    server.faults.clockAheadMs = 20_000;
    await expect(append('a', NO_STREAM)).rejects.toMatchObject({ type: 'deadline-exceeded' });
    await expect(revisions('a')).rejects.toMatchObject({ type: 'stream-not-found' });
    await client.appendToStream('a', [anEvent()], { deadline: 40_000 });
    expect(await revisions('a')).toEqual([0]);
  });

  it('refuses reads and appends while it is not ready, each with its own error', async () => {
    await append('a', NO_STREAM);
    server.faults.isStarting = true;
    const appends = [append('a', 0n), append('b', NO_STREAM)];
    for (const appended of appends) {
      await expect(appended).rejects.toMatchObject({ type: 'unknown' });
      await expect(appended).rejects.toThrow('Server Is Not Ready');
    }
    await expect(revisions('a')).rejects.toMatchObject({ type: 'unavailable' });
    server.faults.isStarting = false;
    expect(await append('a', 0n)).toBe(1);
  });

  it('serves its events as a follower, and names the leader to clients that require it', async () => {
    await append('a', NO_STREAM, [anEvent(), anEvent()]);
    await client.setStreamMetadata('a', { maxCount: 1 });
    const follower = await EventStoreServer.start();
    const other = EventStoreDBClient.connectionString(follower.url);
    const read = async (requiresLeader: boolean) => {
      const events = [];
      for await (const { event } of other.readStream('a', { requiresLeader })) events.push(event?.revision);
      return events;
    };
    try {
      follower.replicate(server);
      await append('a', 1n);
      follower.faults.leader = { host: '127.0.0.1', port: server.port };
      expect(await read(false)).toEqual([1n]);
      const leader = { address: '127.0.0.1', port: server.port };
      await expect(other.appendToStream('a', [anEvent()])).rejects.toMatchObject({ type: 'not-leader', leader });
      await eventually(() => read(true), 2_000, 'the client must connect to the leader');
      expect(await read(true)).toEqual([2n]);
    } finally {
      await other.dispose();
      await follower.close();
    }
  });
});
