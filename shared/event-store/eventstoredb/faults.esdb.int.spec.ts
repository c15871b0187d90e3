import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../schemas/json.ts';
import { Refusal } from '../../errors/refusal.ts';
import { systemClock } from '../../primitives/clock.ts';
import { systemIds } from '../../primitives/ids.ts';
import { anEvent, someMetadata } from '../../testing/event-builder.ts';
import { EventStoreServer } from '../../testing/event-store-server/event-store-server.esdb.ts';
import { connectForTests } from '../../testing/event-store-server/test-store.esdb.ts';
import { eventually } from '../../testing/eventually.ts';
import type { EsdbEventStore } from './event-store.esdb.ts';
import { OutcomeUnknown, type EventFilter, type EventToAppend, type ReadStreamOptions } from '../event-store.ts';
import { appendConfirmed, Transactor } from '../transactions/transact.ts';

const APPENDED_WITHIN_MS = 60_000;
const aStream = () => `test-${randomUUID()}`;

let server: EventStoreServer;
let store: EsdbEventStore;
beforeEach(async () => {
  server = await EventStoreServer.start();
  store = await connectForTests(server.url);
});
afterEach(async () => {
  server.faults.thaw();
  await store.close();
  await server.close();
});

/** Follows in the background. `seen` are the revisions by stream, in the order of delivery. */
const following = (filter?: EventFilter) => {
  const stop = new AbortController();
  const seen: string[] = [];
  const ended = (async () => {
    for await (const { events } of store.subscribeAll(0, filter, stop.signal)) {
      seen.push(...events.map(({ stream, revision }) => `${stream}@${String(revision)}`));
    }
  })();
  return {
    seen,
    stop: async () => {
      stop.abort();
      await ended;
    },
  };
};

describe('appends to EventStoreDB when its connection is cut', () => {
  it('are all stored exactly once, whatever answers 64 writers received', async () => {
    const written = new Map<string, EventToAppend[]>();
    let acknowledged = 0;
    const cut = () => {
      acknowledged += 1;
      if (acknowledged % 150 === 50) server.dropConnections();
      else if (acknowledged % 150 === 100) server.faults.dropBeforeWrite = 1;
      else if (acknowledged % 150 === 0) server.faults.dropAfterWrite = 1;
    };
    const writers = Array.from({ length: 64 }, async () => {
      const stream = aStream();
      const events = Array.from({ length: 20 }, () => anEvent());
      written.set(stream, events);
      for (const [index, event] of events.entries()) {
        // A writer whom each cut hits is told that the outcome is unknown, and appends the same event again.
        const append = () => appendConfirmed(store, stream, index - 1, [event]);
        await eventually(append, APPENDED_WITHIN_MS, `event ${String(index)} must be appended`);
        cut();
      }
    });
    await Promise.all(writers);
    for (const [stream, events] of written) {
      expect((await store.read(stream)).map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    }
    expect((await store.readAll(0, undefined, 10_000)).events).toHaveLength(64 * 20);
  });

  it.each(['dropBeforeWrite', 'dropAfterWrite'] as const)(
    'have an unknown outcome, which appending the same events confirms (%s)',
    async (fault) => {
      const [stream, events] = [aStream(), [anEvent(), anEvent()]];
      server.faults[fault] = 1;
      await expect(store.append(stream, -1, events)).rejects.toBeInstanceOf(OutcomeUnknown);
      const { revision, position } = await appendConfirmed(store, stream, -1, events);
      const stored = await store.read(stream);
      expect(stored.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
      expect({ revision, position }).toEqual({ revision: 1, position: stored[1]?.position });
    },
  );

  it('succeed after the server was away', async () => {
    const stream = aStream();
    const restarted = server.restart(1_000);
    await appendConfirmed(store, stream, -1, [anEvent()]);
    await restarted;
    expect(await store.read(stream)).toHaveLength(1);
  });

  it('succeed after the server reported that it is starting', async () => {
    server.faults.isStarting = true;
    server.dropConnections();
    const [stream, events] = [aStream(), [anEvent()]];
    await expect(store.append(stream, -1, events)).rejects.toBeInstanceOf(OutcomeUnknown);
    await expect(store.append(stream, -1, events)).rejects.toBeInstanceOf(OutcomeUnknown);
    server.faults.isStarting = false;
    expect(await appendConfirmed(store, stream, -1, events)).toMatchObject({ revision: 0 });
  });

  it('are accepted by a server whose clock is ahead of ours', async () => {
    server.faults.clockAheadMs = 60_000;
    expect(await store.append(aStream(), -1, [anEvent()])).toMatchObject({ revision: 0 });
  });

  it('go to the leader that a follower names', async () => {
    const leader = await EventStoreServer.start();
    server.faults.leader = { host: '127.0.0.1', port: leader.port };
    const stream = aStream();
    await appendConfirmed(store, stream, -1, [anEvent()]);
    const reader = await connectForTests(leader.url);
    expect(await reader.read(stream)).toHaveLength(1);
    await reader.close();
    await leader.close();
  });
});

describe('EventStoreDB that does not answer', () => {
  it('makes every request fail in time, and stores an append once when it answers again', async () => {
    const [stream, events] = [aStream(), [anEvent()]];
    const hurried = await connectForTests(server.url, { answerMs: 200 });
    const append = () => appendConfirmed(hurried, aStream(), -1, [anEvent()]);
    await eventually(append, APPENDED_WITHIN_MS, 'it must work while the server answers');
    server.faults.freeze();
    const outcomes = await Promise.allSettled([
      hurried.append(stream, -1, events),
      hurried.read(stream),
      hurried.readAll(0, undefined, 10),
      hurried.head(),
      ...Array.from({ length: 30 }, () => hurried.append(aStream(), -1, [anEvent()])),
    ]);
    const [appended, ...others] = outcomes.map((outcome) =>
      outcome.status === 'rejected' ? (outcome.reason as unknown) : null,
    );
    expect(appended).toBeInstanceOf(OutcomeUnknown);
    for (const read of others.slice(0, 3)) expect(read).toMatchObject({ code: 'dependency_unavailable' });
    expect(others).not.toContain(null);
    // Appends that were still in the queue were certainly not written.
    const refused = others.slice(3).filter((error) => error instanceof Refusal);
    expect(refused.length).toBeGreaterThanOrEqual(15);
    server.faults.thaw();
    await eventually(
      () => appendConfirmed(hurried, stream, -1, events),
      APPENDED_WITHIN_MS,
      'the append must be confirmed',
    );
    expect(await store.read(stream)).toHaveLength(1);
    await hurried.close();
  });
});

describe('a subscription to EventStoreDB', () => {
  it.each([undefined, { types: ['Happened'] }])(
    'gives each event once and in order across restarts (filter %j)',
    async (filter) => {
      const [stream, followed] = [aStream(), following(filter)];
      for (let revision = 0; revision < 60; revision += 1) {
        await appendConfirmed(store, stream, revision - 1, [anEvent()]);
        if (revision % 20 === 10) await server.restart(50);
        else if (revision % 20 === 15) server.dropConnections();
      }
      const expected = Array.from({ length: 60 }, (_, revision) => `${stream}@${String(revision)}`);
      await eventually(() => followed.seen.length >= 60, 10_000, 'the subscription must resume');
      await followed.stop();
      expect(followed.seen).toEqual(expected);
    },
  );

  it('gives the events that arrived during one batch as the next, up to a thousand events', async () => {
    const stream = aStream();
    const events = Array.from({ length: 5_000 }, () => anEvent());
    for (let at = 0; at < events.length; at += 200)
      await appendConfirmed(store, stream, at - 1, events.slice(at, at + 200));
    const stop = new AbortController();
    const sizes: number[] = [];
    let given = 0;
    for await (const batch of store.subscribeAll(0, undefined, stop.signal)) {
      sizes.push(batch.events.length);
      given += batch.events.length;
      const isSent = () => server.eventsGiven >= 5_000 || server.eventsGiven - given >= 1_500;
      if (batch.caughtUp) stop.abort();
      else await eventually(isSent, 5_000, 'the server must keep sending');
    }
    expect(given).toBe(5_000);
    expect(Math.max(...sizes)).toBeGreaterThan(100);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000);
  });

  it('reports its progress past filtered events now and then, not at each of them', async () => {
    const stream = aStream();
    const stop = new AbortController();
    const passed: number[] = [];
    const ended = (async () => {
      for await (const { position } of store.subscribeAll(0, { types: ['Wanted'] }, stop.signal)) passed.push(position);
    })();
    const startedAt = performance.now();
    const quiet = await store.append(stream, -1, [anEvent()]);
    await eventually(() => passed.at(-1) === quiet.position, 2_000, 'it must report the position of the one event');
    let newest = quiet;
    for (let revision = 0; revision < 500; revision += 1) {
      newest = await store.append(stream, revision, [anEvent()]);
    }
    await eventually(() => passed.at(-1) === newest.position, 2_000, 'it must report the position of the newest event');
    const mostly = 4 + (performance.now() - startedAt) / 50;
    expect(passed.length).toBeLessThanOrEqual(mostly);
    stop.abort();
    await ended;
  });

  it('ends when the store is closed', async () => {
    const followed = following();
    await store.append(aStream(), -1, [anEvent()]);
    await eventually(() => followed.seen.length === 1, 2_000, 'the subscription must run');
    await store.close();
    await followed.stop();
    await expect(store.append(aStream(), -1, [anEvent()])).rejects.toMatchObject({ code: 'shutting_down' });
  });
});

describe('an append that EventStoreDB or its client cannot handle', () => {
  const wrong: [string, Partial<EventToAppend>][] = [
    ['an id that is not a UUID', { id: 'event-1' }],
    ['an empty type', { type: '' }],
    ['a bigint', { data: { amount: 1n } as unknown as JsonObject }],
  ];
  it.each(wrong)('is refused before it is sent: %s', async (_, members) => {
    const stream = aStream();
    await expect(store.append(stream, -1, [anEvent(), { ...anEvent(), ...members }])).rejects.toBeInstanceOf(TypeError);
    await store.append(stream, -1, [anEvent()]);
    expect(await store.read(stream)).toHaveLength(1);
  });

  it('is refused with a message that names the limit when it is too large, and nothing is written', async () => {
    const stream = aStream();
    const large = Array.from({ length: 12 }, () => anEvent({ data: { pad: 'x'.repeat(100_000) } }));
    await expect(store.append(stream, -1, large)).rejects.toThrow('larger than the 1048576 bytes');
    expect(await store.read(stream)).toEqual([]);
    await store.append(stream, -1, large.slice(0, 8));
  });
});

describe('a command on a stream that EventStoreDB forgot', () => {
  it('is decided as on a new stream, and appended at the revision that the stream keeps', async () => {
    const transactors = [0, 1].map(() => new Transactor(store, systemClock, systemIds));
    const useKey = (transactor: Transactor | undefined) =>
      transactor?.transact({
        stream: 'request-forgotten',
        fold: { initial: 0, evolve: (used: number) => used + 1 },
        metadata: someMetadata,
        keep: { seconds: 3_600 },
        decide: (used) => (used === 0 ? [{ type: 'RequestReceived', data: { fingerprint: 'x' } }] : []),
      });
    expect(await useKey(transactors[0])).toMatchObject({ appended: true });
    expect(await useKey(transactors[1])).toMatchObject({ appended: false });
    server.faults.clockAheadMs = 3_601_000;
    for (const transactor of transactors) {
      expect(await useKey(transactor)).toMatchObject({ appended: transactor === transactors[0], state: 1 });
    }
    expect((await store.read('request-forgotten')).map(({ revision }) => revision)).toEqual([1]);
  });
});

describe("EventStoreDB's own events", () => {
  it('are never delivered, and positions move past them', async () => {
    const [stream, from] = [aStream(), await store.head()];
    await store.keepNewest(stream, 1);
    const head = await store.head();
    expect(head).toBeGreaterThan(from);
    expect(await store.readAll(from, undefined, 10)).toEqual({ events: [], position: head, caughtUp: true });
    await store.append(stream, -1, [anEvent()]);
    await store.keepNewest(aStream(), 1);
    const { events, position } = await store.readAll(from, undefined, 10);
    expect(events.map(({ stream: of }) => of)).toEqual([stream]);
    expect(position).toBe(await store.head());
  });

  it('are not counted among the events that a read of a stream is limited to', async () => {
    const stream = aStream();
    const client = EventStoreDBClient.connectionString(server.url);
    const events = Array.from({ length: 6 }, () => anEvent());
    for (const [at, event] of events.entries()) {
      await store.append(stream, at * 2 - 1, [event]);
      await client.appendToStream(stream, jsonEvent({ type: 'Foreign', data: {} }));
    }
    await client.dispose();
    const revisions = async (options: ReadStreamOptions) =>
      (await store.read(stream, options)).map(({ revision }) => revision);
    expect(await revisions({ from: 1, limit: 3 })).toEqual([2, 4, 6]);
    expect(await revisions({ direction: 'backwards', limit: 4 })).toEqual([10, 8, 6, 4]);
    expect(await revisions({ limit: 50 })).toEqual([0, 2, 4, 6, 8, 10]);
  });

  it('do not change the revision that a repeated append returns, even when its events are not kept any more', async () => {
    const [stream, events] = [aStream(), [anEvent(), anEvent()]];
    await store.keepNewest(stream, 1);
    await store.append(stream, -1, events);
    const newest = await store.append(stream, 1, [anEvent()]);
    expect(await store.append(stream, -1, events)).toEqual({ revision: 1, position: newest.position });
  });

  it('are written by keepNewest only when the limit of the stream changes', async () => {
    const stream = aStream();
    await store.keepNewest(stream, 2);
    const head = await store.head();
    await store.keepNewest(stream, 2);
    expect(await store.head()).toBe(head);
    await store.keepNewest(stream, 1);
    await store.append(stream, -1, [anEvent(), anEvent(), anEvent()]);
    expect((await store.read(stream)).map(({ revision }) => revision)).toEqual([2]);
  });
});
