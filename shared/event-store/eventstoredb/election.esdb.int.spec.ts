import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { anEvent } from '../../testing/event-builder.ts';
import { EventStoreServer } from '../../testing/event-store-server/event-store-server.esdb.ts';
import { connectForTests } from '../../testing/event-store-server/test-store.esdb.ts';
import { eventually } from '../../testing/eventually.ts';
import type { EventFilter, EventStore } from '../event-store.ts';
import { appendConfirmed } from '../transactions/transact.ts';

const aStream = () => `test-${randomUUID()}`;

/** The two nodes of a cluster. The follower receives events only when `replicate` is called. */
let left: EventStoreServer;
let right: EventStoreServer;
const opened: { close: () => Promise<void> }[] = [];
const connect = async (url: string) => {
  const store = await connectForTests(url);
  opened.push(store);
  return store;
};

/** Makes `next` the leader, with all stored events. The old leader keeps its connections. */
const elect = (next: EventStoreServer, before: EventStoreServer) => {
  next.replicate(before);
  next.faults.leader = undefined;
  before.faults.leader = { host: '127.0.0.1', port: next.port };
};

beforeEach(async () => {
  [left, right] = [await EventStoreServer.start(), await EventStoreServer.start()];
  elect(left, right);
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  await left.close();
  await right.close();
});

/** Retries while the cluster has no leader. */
const read = (store: EventStore, stream: string) =>
  eventually(() => store.read(stream), 15_000, 'the event store must be readable');

/** Follows in the background. `seen` are the revisions in the order of delivery. */
const following = (store: EventStore, filter: EventFilter | undefined) => {
  const stop = new AbortController();
  const seen: number[] = [];
  const ended = (async () => {
    for await (const { events } of store.subscribeAll(0, filter, stop.signal)) {
      seen.push(...events.map(({ revision }) => revision));
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

describe('a cluster of EventStoreDB', () => {
  it('is read at its leader, also by a client that is given the address of a follower that is behind', async () => {
    const stream = aStream();
    const { position } = await appendConfirmed(await connect(left.url), stream, -1, [anEvent()]);
    const store = await connect(right.url);
    expect(await store.read(stream)).toHaveLength(1);
    expect(await store.head()).toBe(position);
    expect((await store.readAll(0, undefined, 10)).events).toHaveLength(1);
  });

  it('is never read at a former leader', async () => {
    const [store, stream] = [await connect(left.url), aStream()];
    await appendConfirmed(store, stream, -1, [anEvent()]);
    elect(right, left);
    await appendConfirmed(await connect(right.url), stream, 0, [anEvent()]);
    expect(await read(store, stream)).toHaveLength(2);
    await appendConfirmed(store, stream, 1, [anEvent()]);
    expect(await store.read(stream)).toHaveLength(3);
  });

  it('never gives a reader during elections less than what was already acknowledged', async () => {
    const [writer, reader, stream] = [await connect(left.url), await connect(right.url), aStream()];
    let [written, reads] = [0, 0];
    const writing = (async () => {
      for (; written < 60; written += 1) {
        if (written % 20 === 10) elect(right, left);
        else if (written % 20 === 0 && written > 0) elect(left, right);
        const readBefore = reads;
        await appendConfirmed(writer, stream, written - 1, [anEvent()]);
        await eventually(() => reads > readBefore, 15_000, 'the stream must be read meanwhile');
      }
    })();
    for (; written < 60; reads += 1) {
      const known = written;
      expect((await read(reader, stream)).length).toBeGreaterThanOrEqual(known);
    }
    await writing;
  });

  it.each([undefined, { types: ['Happened'] }])(
    'is followed from one leader to the next, each event once and in order (filter %j)',
    async (filter) => {
      const [store, stream] = [await connect(left.url), aStream()];
      const followed = following(store, filter);
      const counts = [20, 40, 60];
      for (const [election, count] of counts.entries()) {
        for (let revision = count - 20; revision < count; revision += 1) {
          await appendConfirmed(store, stream, revision - 1, [anEvent()]);
          if (revision === count - 10)
            elect(...(election % 2 === 0 ? ([right, left] as const) : ([left, right] as const)));
        }
        await read(store, stream);
        await eventually(() => followed.seen.length >= count, 30_000, 'the subscription must go to the new leader');
      }
      await followed.stop();
      expect(followed.seen).toEqual(Array.from({ length: 60 }, (_, revision) => revision));
    },
  );

  it('stays available without its former leader when the URL names the other nodes', async () => {
    const at = [left, right].map(({ port }) => `127.0.0.1:${String(port)}`).join(',');
    const [store, stream] = [await connect(`esdb://${at}?tls=false`), aStream()];
    await appendConfirmed(store, stream, -1, [anEvent()]);
    elect(right, left);
    await left.close();
    await appendConfirmed(store, stream, 0, [anEvent()]);
    expect(await read(store, stream)).toHaveLength(2);
    await left.restart();
  });
});
