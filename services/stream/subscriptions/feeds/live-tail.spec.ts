import { beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { topics } from '../../../../schemas/topics.ts';
import { MemoryMessageBus } from '../../../../shared/testing/engines/message-bus.memory.ts';
import type { FollowedPartitions } from '../../../../shared/message-bus/followed-partitions.ts';
import type { BusBatch, MessageToPublish } from '../../../../shared/message-bus/message-bus.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { Cursors } from '../../../../shared/keys/stream-cursors.ts';
import { MessageReader } from '../../domain/chain-message.ts';
import { withinTicks } from '../../testing/feed-under-test.ts';
import { LiveTail } from './live-tail.ts';

const topic = topics.chainEvents;
const reader = new MessageReader(new Cursors(new Uint8Array(32)), () => undefined);
const MINUTES_MS = 5 * 60_000;
const HOUR_MS = 3_600_000;
const message = (position: number): MessageToPublish => ({
  key: 'k',
  headers: {
    ce_type: 'annals.ChainEventObserved.v1',
    ce_position: String(position),
    ce_time: '1970-01-01T00:00:00.000Z',
  },
  value: '{}',
  timestamp: 0,
});

describe('the live tail of the topic', () => {
  let nowMs: number;
  let published: number;
  /** Positions. */
  let offered: number[];
  let options: ConstructorParameters<typeof LiveTail>[0] & { messageBus: MemoryMessageBus };
  let tail: LiveTail;
  beforeEach(async () => {
    [nowMs, published, offered] = [0, 0, []];
    options = {
      messageBus: new MemoryMessageBus(),
      genuine: { filter: (messages) => Promise.resolve([...messages]) },
      reader,
      clock: systemClock,
      eventStore: { head: () => Promise.resolve(0) },
      onMessage: ({ position }) => offered.push(position),
      logger: pino({ level: 'silent' }),
      now: () => nowMs,
      beginWithinMs: HOUR_MS,
    };
    tail = new LiveTail(options);
    await options.messageBus.createTopics([topic]);
  });
  const publish = (count: number) =>
    options.messageBus.publish(
      topic,
      Array.from({ length: count }, () => {
        published += 1;
        return message(published);
      }),
    );
  const partition = () => options.messageBus.partitionOf(topic, 'k');
  /** Begins to follow the only partition that has messages, of which the spec reads them. */
  const start = async (): Promise<FollowedPartitions> => {
    const read = await tail.startAt();
    read.readingBegins();
    void tail.follow(partition());
    await withinTicks(() => read.get(partition()) !== undefined, 'the partition must be begun');
    return read;
  };
  /** Gives the tail messages of the only partition that has some. */
  const handle = async (from: number, until: number) => {
    const offsets = new Map([[partition(), String(from)]]);
    const ending = new AbortController();
    const batches = options.messageBus.consume(topic, offsets, ending.signal)[Symbol.asyncIterator]();
    let received: BusBatch | undefined;
    void batches.next().then(({ value }) => (received = value as BusBatch));
    await withinTicks(() => received !== undefined, 'the bus must have the messages');
    ending.abort();
    await tail.handleBatch({ partition: partition(), messages: received?.messages.slice(0, until - from) ?? [] });
  };
  /** Positions in memory. */
  const inMemory = () => Array.from(tail.recentMessages(partition())?.after(0) ?? [], ({ position }) => position);

  it('is caught up with nothing to follow, and of a partition when it has handled what was published before', async () => {
    await publish(3);
    expect(tail.isCaughtUp).toBe(false);
    const read = await tail.startAt();
    expect(tail.isCaughtUp).toBe(false);
    read.readingBegins();
    expect(tail.isCaughtUp).toBe(true);
    expect(tail.partitions).toEqual([]);
    let isFollowed = false;
    void tail.follow(partition()).then(() => (isFollowed = true));
    await withinTicks(() => read.get(partition()) !== undefined, 'the partition must be begun');
    expect(tail.partitions).toEqual([partition()]);
    await handle(0, 2);
    expect([tail.recentMessages(partition()), isFollowed]).toEqual([undefined, false]);
    // The others have nothing to wait for.
    expect(tail.isCaughtUp).toBe(true);
    await handle(2, 3);
    await withinTicks(() => isFollowed, 'the partition must be followed');
    expect(inMemory()).toEqual([1, 2, 3]);
  });

  it('begins at the head where the newest messages are only copies of old ones', async () => {
    options.eventStore.head = () => Promise.resolve(7);
    await publish(3);
    await options.messageBus.publish(topic, [{ ...message(2), timestamp: Date.now() }]);
    await start();
    await handle(3, 4);
    const recent = tail.recentMessages(partition());
    expect([recent?.completeAfter, recent?.end, inMemory()]).toEqual([7, 7, []]);
    await options.messageBus.publish(topic, [message(8)]);
    await handle(4, 5);
    expect([inMemory(), offered]).toEqual([[8], [8]]);
  });

  it('goes on where the topic was replaced, although what was asked before fails at last', async () => {
    const first = Promise.withResolvers<number>();
    options.eventStore.head = () => {
      options.eventStore.head = () => Promise.resolve(0);
      return first.promise;
    };
    const read = await tail.startAt();
    read.readingBegins();
    const following = tail.follow(partition());
    await withinTicks(() => tail.partitions.length > 0, 'it must begin');
    await tail.startAt();
    await following;
    first.reject(new Error('late'));
    await publish(1);
    await handle(0, 1);
    expect([tail.partitions, inMemory()]).toEqual([[partition()], [1]]);
  });

  it('stays caught up while it follows a growing topic, until it is behind for 10 s', async () => {
    await start();
    const states = () => [tail.isCaughtUp, tail.recentMessages(partition()) !== undefined];
    for (let done = 0; done < 10; done += 1) {
      await publish(1);
      await tail.queryEnd();
      nowMs += 6_000;
      expect(states()).toEqual([true, true]);
      await handle(done, done + 1);
    }
    await publish(1);
    await tail.queryEnd();
    nowMs += 9_000;
    expect(states()).toEqual([true, true]);
    await tail.queryEnd();
    nowMs += 2_000;
    expect(states()).toEqual([false, false]);
    await handle(10, 11);
    expect(states()).toEqual([true, true]);
  });

  it('is not caught up when a partition that it began 10 s ago is behind', async () => {
    await publish(2);
    await start();
    await tail.queryEnd();
    nowMs += 9_000;
    await tail.queryEnd();
    expect(tail.isCaughtUp).toBe(true);
    nowMs += 2_000;
    expect(tail.isCaughtUp).toBe(false);
    await handle(0, 2);
    expect(tail.isCaughtUp).toBe(true);
  });

  it.each([
    [9_500, true],
    [10_500, false],
    [12_000, false],
  ])('that is always %i ms behind is at every moment caught up: %p', async (behindMs, expected) => {
    const results = new Set<boolean>();
    const record = () => {
      if (nowMs > 2 * behindMs) results.add(tail.isCaughtUp).add(tail.recentMessages(partition()) !== undefined);
    };
    await publish(1);
    await start();
    for (let handled = 0; nowMs < 60_000; nowMs += 500) {
      if (nowMs % 1_000 === 0) {
        await publish(1);
        await tail.queryEnd();
      }
      record();
      // One message was published each second, the first a second before the start.
      const due = Math.floor((nowMs - behindMs) / 1_000) + 2;
      if (due <= handled) continue;
      await handle(handled, due);
      handled = due;
      record();
    }
    expect(Array.from(results)).toEqual([expected]);
  });

  it('stays caught up in a topic without new messages as long as it can query the end', async () => {
    await publish(1);
    await start();
    await handle(0, 1);
    for (let queries = 0; queries < 5; queries += 1) {
      nowMs += 6_000;
      await tail.queryEnd();
      expect(tail.isCaughtUp).toBe(true);
    }
    nowMs += 11_000;
    expect(tail.isCaughtUp).toBe(false);
    expect(tail.recentMessages(partition())).toBeUndefined();
  });

  it('is caught up when the topic was replaced by an empty one', async () => {
    await publish(1);
    await start();
    options.messageBus = new MemoryMessageBus();
    await tail.startAt();
    expect(tail.isCaughtUp).toBe(true);
    expect(inMemory()).toEqual([]);
    expect(tail.recentMessages(partition())).toBeDefined();
  });

  it('stops at once, even when the bus does not answer', async () => {
    await start();
    const queried = Promise.withResolvers<undefined>();
    options.messageBus.offsets = () => {
      queried.resolve(undefined);
      return new Promise(() => undefined);
    };
    tail.loop.start();
    await queried.promise;
    await tail.loop.stop();
  });

  it('lets go of a partition minutes after its last subscription and question', async () => {
    const read = await start();
    const passes = async (ms: number) => {
      nowMs += ms;
      await tail.queryEnd();
      return [tail.partitions.length, Array.from(read).length];
    };
    expect(await passes(MINUTES_MS - 1)).toEqual([1, 1]);
    await tail.follow(partition());
    expect(await passes(MINUTES_MS - 1)).toEqual([1, 1]);
    for (const _ of [1, 2]) tail.hold(partition());
    expect(await passes(MINUTES_MS)).toEqual([1, 1]);
    tail.release(partition());
    expect(await passes(MINUTES_MS)).toEqual([1, 1]);
    tail.release(partition());
    expect(await passes(MINUTES_MS - 1)).toEqual([1, 1]);
    expect(await passes(1)).toEqual([0, 0]);
    expect(tail.recentMessages(partition())).toBeUndefined();
  });

  it('begins a partition once for all who ask for it meanwhile, and again after a failure', async () => {
    await tail.startAt();
    const { messageBus } = options;
    const offsets = messageBus.offsets.bind(messageBus);
    messageBus.offsets = () => Promise.reject(new Error('the bus is away'));
    const refused = await Promise.allSettled([1, 2].map(() => tail.follow(partition())));
    for (const one of refused) expect(one).toMatchObject({ reason: { code: 'dependency_unavailable' } });
    expect(tail.partitions).toEqual([]);
    let asked = 0;
    messageBus.offsets = (...given) => {
      asked += 1;
      return offsets(...given);
    };
    await Promise.all([1, 2, 3].map(() => tail.follow(partition())));
    expect(asked).toBe(3);
    expect(tail.recentMessages(partition())).toBeDefined();
  });

  it('takes nothing from a batch of an earlier time when a partition is followed again', async () => {
    await publish(2);
    const read = await start();
    await handle(0, 2);
    // The batch is being checked while the partition is let go and followed again.
    const checking = Promise.withResolvers<undefined>();
    const [filter, isAsked] = [options.genuine.filter, Promise.withResolvers<undefined>()];
    options.genuine.filter = async (messages) => {
      isAsked.resolve(undefined);
      await checking.promise;
      return filter(messages);
    };
    await publish(2);
    const late = handle(2, 4);
    await isAsked.promise;
    options.genuine.filter = filter;
    nowMs += MINUTES_MS;
    await tail.queryEnd();
    expect(tail.partitions).toEqual([]);
    const following = tail.follow(partition());
    await withinTicks(() => read.get(partition()) !== undefined, 'it must be followed again');
    offered = [];
    checking.resolve(undefined);
    await late;
    await handle(3, 4);
    await following;
    expect(offered).toEqual([4]);
    expect(inMemory()).toEqual([4]);
  });
});
