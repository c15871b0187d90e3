import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { anEvent } from '../../../testing/event-builder.ts';
import { EventStoreServer } from '../../../testing/event-store-server/event-store-server.esdb.ts';
import { connectForTests } from '../../../testing/event-store-server/test-store.esdb.ts';
import { eventually } from '../../../testing/eventually.ts';
import type { EsdbEventStore } from '../event-store.esdb.ts';
import type { EventBatch, EventFilter, Position } from '../../event-store.ts';
import { appendConfirmed } from '../../transactions/transact.ts';

const WITHIN_MS = 60_000;
const LOOPS = 9;
const types = ['Even', 'Odd'];
const typeAt = (at: number) => types[at % 2] ?? '';

let server: EventStoreServer;
let store: EsdbEventStore;
let stop: AbortController;
let ended: Promise<void>[];
beforeEach(async () => {
  server = await EventStoreServer.start();
  store = await connectForTests(server.url);
  stop = new AbortController();
  ended = [];
});
afterEach(async () => {
  stop.abort();
  await Promise.all(ended);
  await store.close();
  await server.close();
});

interface Follower {
  /** The revisions of the one stream that were given, in their order. */
  revisions: number[];
  batches: number;
  last: EventBatch | undefined;
}

/** Follows in the background. `handle` is awaited after each batch. */
const follow = (
  { after = 0, filter }: { after?: Position; filter?: EventFilter } = {},
  handle: () => Promise<unknown> = () => Promise.resolve(),
): Follower => {
  const follower: Follower = { revisions: [], batches: 0, last: undefined };
  const run = async () => {
    for await (const batch of store.subscribeAll(after, filter, stop.signal)) {
      follower.revisions.push(...batch.events.map(({ revision }) => revision));
      follower.batches += 1;
      follower.last = batch;
      await handle();
    }
  };
  ended.push(run());
  return follower;
};

const stream = `test-${randomUUID()}`;
/** Appends events from a revision on, a hundred in one append, alternately of two types. */
const append = async (from: number, count: number, data = {}): Promise<void> => {
  for (let at = from; at < from + count; at += 100) {
    const some = Array.from({ length: Math.min(100, from + count - at) }, (_, index) =>
      anEvent({ type: typeAt(at + index), data }),
    );
    await appendConfirmed(store, stream, at - 1, some);
  }
};
const upTo = (count: number) => Array.from({ length: count }, (_, revision) => revision);
const isCaughtUp = ({ last }: Follower) => last?.caughtUp === true;
const oneIsLeft = () =>
  eventually(() => server.subscriptions === 1, WITHIN_MS, 'the followers must share one subscription');

describe('the followers of one process on EventStoreDB', () => {
  it('share one subscription once they have caught up, wherever each began', async () => {
    await append(0, 1_000);
    const positions = [0, ...(await store.read(stream)).map(({ position }) => position)];
    const followers = Array.from({ length: LOOPS }, (_, index) => follow({ after: positions[index * 100] ?? 0 }));
    await eventually(() => followers.every(isCaughtUp), WITHIN_MS, 'all must catch up');
    await oneIsLeft();
    await append(1_000, 500);
    await eventually(
      () => followers.every(({ revisions }) => revisions.at(-1) === 1_499),
      WITHIN_MS,
      'each must be given every event',
    );
    for (const [index, { revisions }] of followers.entries()) expect(revisions).toEqual(upTo(1_500).slice(index * 100));
    expect(server.subscriptions).toBe(1);
  });

  it('decode an event once, not once for each of them', async () => {
    await append(0, 1);
    const followers = Array.from({ length: LOOPS }, () => follow());
    await eventually(() => followers.every(isCaughtUp), WITHIN_MS, 'all must catch up');
    await oneIsLeft();
    const before = server.eventsGiven;
    await append(1, 1_000);
    await eventually(() => followers.every(({ revisions }) => revisions.length === 1_001), WITHIN_MS, 'all must go on');
    expect(server.eventsGiven - before).toBe(1_000);
  });

  it('wait for none that is slow, and hold only some MiB for it', async () => {
    await append(0, 1);
    const held = Promise.withResolvers<undefined>();
    const quick = follow();
    const slow = follow({}, () => held.promise);
    await eventually(() => isCaughtUp(quick) && slow.batches > 0, WITHIN_MS, 'both must begin');
    const large = { text: 'x'.repeat(8_000) };
    await append(1, 4_000, large);
    await eventually(() => quick.revisions.length === 4_001, WITHIN_MS, 'the quick one must not wait');
    expect(slow.batches).toBe(1);
    held.resolve(undefined);
    await eventually(() => slow.revisions.length === 4_001, WITHIN_MS, 'the slow one must catch up');
    expect(slow.revisions).toEqual(upTo(4_001));
    await oneIsLeft();
  });

  it('are joined by one that is rebuilt from the first event, which holds up none of them', async () => {
    await append(0, 3_000);
    const current = follow({ after: await store.head() });
    await eventually(() => isCaughtUp(current), WITHIN_MS, 'it must catch up');
    const rebuilt = follow({ filter: { types: ['Odd'] } });
    await append(3_000, 500);
    await eventually(() => current.revisions.length === 500, WITHIN_MS, 'what is new must arrive');
    await eventually(() => rebuilt.revisions.at(-1) === 3_499, WITHIN_MS, 'it must catch up');
    expect(rebuilt.revisions).toEqual(upTo(3_500).filter((revision) => revision % 2 === 1));
    await oneIsLeft();
  });

  it('are given each event once and in order when the server is restarted', async () => {
    await append(0, 100);
    const followers = types.map((type) => follow({ filter: { types: [type] } }));
    await eventually(() => followers.every(isCaughtUp), WITHIN_MS, 'all must catch up');
    for (let from = 100; from < 500; from += 100) {
      await append(from, 100);
      await server.restart(20);
    }
    await eventually(() => followers.every(({ revisions }) => revisions.length === 250), WITHIN_MS, 'all must go on');
    for (const [odd, { revisions }] of followers.entries())
      expect(revisions).toEqual(upTo(500).filter((revision) => revision % 2 === odd));
  });

  it('leave no subscription behind, and begin anew', async () => {
    await append(0, 10);
    const first = follow();
    await eventually(() => isCaughtUp(first), WITHIN_MS, 'it must catch up');
    stop.abort();
    await Promise.all(ended);
    await eventually(() => server.subscriptions === 0, WITHIN_MS, 'the subscription must end');
    stop = new AbortController();
    await append(10, 10);
    const again = follow();
    await eventually(() => isCaughtUp(again), WITHIN_MS, 'it must catch up again');
    expect(again.revisions).toEqual(upTo(20));
  });

  it('name no event where they begin behind the newest one, as the end of the log once was stored', async () => {
    await append(0, 10);
    const behind = (await store.head()) + 100;
    const follower = follow({ after: behind, filter: { types: ['Other'] } });
    await eventually(() => isCaughtUp(follower), WITHIN_MS, 'it must catch up');
    expect(follower.last).toMatchObject({ position: behind, newestPermanent: undefined });
  });

  it("pass the server's own events, and name the newest of ours that is never forgotten", async () => {
    await append(0, 10);
    const followers = [follow(), follow({ filter: { types: ['Other'] } })];
    await eventually(() => followers.every(isCaughtUp), WITHIN_MS, 'all must catch up');
    server.writeStatistics();
    const { position } = await store.append('chain-2484', -1, [anEvent()]);
    await eventually(
      () => followers.every(({ last }) => last?.position === position),
      WITHIN_MS,
      'all must come to the newest event',
    );
    server.writeStatistics();
    const head = await store.head();
    expect(head).toBeGreaterThan(position);
    await eventually(
      () => followers.every(({ last }) => last?.position === head),
      WITHIN_MS,
      'all must come to the head',
    );
    for (const { last } of followers) expect(last?.newestPermanent).toMatchObject({ stream, revision: 9 });
    const late = follow({ filter: { types: ['Other'] } });
    await eventually(() => isCaughtUp(late), WITHIN_MS, 'it must catch up');
    expect(late.last?.newestPermanent).toMatchObject({ stream, revision: 9 });
    expect(late.last?.position).toBeLessThanOrEqual(head);
  });
});
