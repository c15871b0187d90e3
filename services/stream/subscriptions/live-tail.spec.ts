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
  /** Gives it messages of the only partition that has some. */
  const take = async (from: number, until: number) => {
    const start = new Map([[options.messageBus.partitionOf(topic, 'k'), String(from)]]);
    for await (const { partition, messages } of options.messageBus.consume(topic, start, AbortSignal.timeout(5_000))) {
      await tail.take({ partition, messages: messages.slice(0, until - from) });
      return;
    }
  };

  it('is caught up when it has what was published before the start', async () => {
    await publish(3);
    expect(tail.isCaughtUp).toBe(false);
    await tail.findStart();
    await take(0, 2);
    expect(tail.isCaughtUp).toBe(false);
    await take(2, 3);
    expect(tail.isCaughtUp).toBe(true);
  });

  it('stays so while it follows a topic that goes on, and no longer when it is left behind for 10 s', async () => {
    await tail.findStart();
    for (let published = 0; published < 10; published += 1) {
      await publish(1);
      await tail.look();
      nowMs += 6_000;
      expect(tail.isCaughtUp).toBe(true);
      await take(published, published + 1);
    }
    await publish(1);
    await tail.look();
    nowMs += 9_000;
    expect(tail.isCaughtUp).toBe(true);
    await tail.look();
    nowMs += 2_000;
    expect(tail.isCaughtUp).toBe(false);
    await take(10, 11);
    expect(tail.isCaughtUp).toBe(true);
  });

  it.each([
    [9_500, true],
    [10_500, false],
    [12_000, false],
  ])('judges who is always %i ms behind the same at every moment', async (behindMs, expected) => {
    const judged = new Set<boolean>();
    const judge = () => {
      if (nowMs > 2 * behindMs) judged.add(tail.isCaughtUp);
    };
    await publish(1);
    await tail.findStart();
    for (let taken = 0; nowMs < 60_000; nowMs += 500) {
      if (nowMs % 1_000 === 0) {
        await publish(1);
        await tail.look();
      }
      judge();
      // One was published each second, the first a second before the start.
      const due = Math.floor((nowMs - behindMs) / 1_000) + 2;
      if (due <= taken) continue;
      await take(taken, due);
      taken = due;
      judge();
    }
    expect(Array.from(judged)).toEqual([expected]);
  });

  it('stays so in a topic where nothing happens as long as it can look', async () => {
    await publish(1);
    await tail.findStart();
    await take(0, 1);
    for (let looks = 0; looks < 5; looks += 1) {
      nowMs += 6_000;
      await tail.look();
      expect(tail.isCaughtUp).toBe(true);
    }
    nowMs += 11_000;
    expect(tail.isCaughtUp).toBe(false);
  });

  it('has nothing left to read of a topic that is another one now, and empty', async () => {
    await publish(1);
    await tail.findStart();
    options.messageBus = new MemoryMessageBus();
    await tail.findStart();
    expect(tail.isCaughtUp).toBe(true);
  });

  it('stops at once while the bus does not answer', async () => {
    await tail.findStart();
    const asked = Promise.withResolvers<undefined>();
    options.messageBus.offsets = () => {
      asked.resolve(undefined);
      return new Promise(() => undefined);
    };
    tail.loop.start();
    await asked.promise;
    await tail.loop.stop();
  });
});
