import { beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { topics } from '../../../schemas/topics.ts';
import { SignedText } from '../../../shared/keys/signed-text.ts';
import { MemoryMessageBus } from '../../../shared/message-bus/message-bus.memory.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { Cursors } from '../domain/cursor.ts';
import { MessageReader } from '../domain/chain-message.ts';
import { LiveTail } from './live-tail.ts';

const topic = topics.chainEvents;
const reader = new MessageReader(new Cursors(new SignedText(new Uint8Array(32), 'stream cursors')), () => undefined);

describe('the live tail of the topic', () => {
  let nowMs: number;
  let options: ConstructorParameters<typeof LiveTail>[0] & { messageBus: MemoryMessageBus };
  let tail: LiveTail;
  beforeEach(async () => {
    nowMs = 0;
    options = {
      messageBus: new MemoryMessageBus(),
      genuine: { of: (messages) => Promise.resolve([...messages]) },
      reader,
      clock: systemClock,
      onMessage: () => false,
      logger: pino({ level: 'silent' }),
      now: () => nowMs,
    };
    tail = new LiveTail(options);
    await options.messageBus.createTopics([topic]);
  });
  const publish = (count: number) =>
    options.messageBus.publish(
      topic,
      Array.from({ length: count }, () => ({ key: 'k', headers: {}, value: '1', timestamp: 0 })),
    );
  /** Gives the tail messages of the only partition that has some. */
  const handle = async (from: number, until: number) => {
    const start = new Map([[options.messageBus.partitionOf(topic, 'k'), String(from)]]);
    for await (const { partition, messages } of options.messageBus.consume(topic, start, AbortSignal.timeout(5_000))) {
      await tail.handleBatch({ partition, messages: messages.slice(0, until - from) });
      return;
    }
  };

  it('is caught up when it has handled what was published before the start', async () => {
    await publish(3);
    expect(tail.isCaughtUp).toBe(false);
    await tail.findStartOffsets();
    await handle(0, 2);
    expect(tail.isCaughtUp).toBe(false);
    await handle(2, 3);
    expect(tail.isCaughtUp).toBe(true);
  });

  it('stays caught up while it follows a growing topic, until it is behind for 10 s', async () => {
    await tail.findStartOffsets();
    for (let published = 0; published < 10; published += 1) {
      await publish(1);
      await tail.queryEnd();
      nowMs += 6_000;
      expect(tail.isCaughtUp).toBe(true);
      await handle(published, published + 1);
    }
    await publish(1);
    await tail.queryEnd();
    nowMs += 9_000;
    expect(tail.isCaughtUp).toBe(true);
    await tail.queryEnd();
    nowMs += 2_000;
    expect(tail.isCaughtUp).toBe(false);
    await handle(10, 11);
    expect(tail.isCaughtUp).toBe(true);
  });

  it.each([
    [9_500, true],
    [10_500, false],
    [12_000, false],
  ])('that is always %i ms behind is at every moment caught up: %p', async (behindMs, expected) => {
    const results = new Set<boolean>();
    const record = () => {
      if (nowMs > 2 * behindMs) results.add(tail.isCaughtUp);
    };
    await publish(1);
    await tail.findStartOffsets();
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
    await tail.findStartOffsets();
    await handle(0, 1);
    for (let queries = 0; queries < 5; queries += 1) {
      nowMs += 6_000;
      await tail.queryEnd();
      expect(tail.isCaughtUp).toBe(true);
    }
    nowMs += 11_000;
    expect(tail.isCaughtUp).toBe(false);
  });

  it('is caught up when the topic was replaced by an empty one', async () => {
    await publish(1);
    await tail.findStartOffsets();
    options.messageBus = new MemoryMessageBus();
    await tail.findStartOffsets();
    expect(tail.isCaughtUp).toBe(true);
  });

  it('stops at once, even when the bus does not answer', async () => {
    await tail.findStartOffsets();
    const queried = Promise.withResolvers<undefined>();
    options.messageBus.offsets = () => {
      queried.resolve(undefined);
      return new Promise(() => undefined);
    };
    tail.loop.start();
    await queried.promise;
    await tail.loop.stop();
  });
});
