import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Topic } from '../../schemas/topics.ts';
import type { BusMessage, MessageBus, MessageToPublish, Offsets } from './message-bus.ts';

/** What every adapter of the port must pass. */
export const messageBusContract = (name: string, open: () => Promise<MessageBus>): void => {
  describe(`message bus on ${name}`, () => {
    let bus: MessageBus;
    let topic: Topic;
    const now = Date.now();
    beforeAll(async () => {
      bus = await open();
    });
    afterAll(() => bus.close());
    beforeEach(async () => {
      topic = { name: `test-${randomUUID()}`, partitions: 3, retentionMs: 86_400_000 };
      await bus.createTopics([topic]);
    });
    const message = (key: string, text: string, timestamp = now): MessageToPublish => ({
      key,
      headers: { ce_type: 'test' },
      value: text,
      timestamp,
    });
    const take = async (from: Offsets, count: number): Promise<BusMessage[]> => {
      const stop = new AbortController();
      const taken: BusMessage[] = [];
      for await (const { messages } of bus.consume(topic, from, stop.signal)) {
        taken.push(...messages);
        if (taken.length >= count) stop.abort();
      }
      return taken;
    };

    it('gives every message whole, in order per key, each key in its partition', async () => {
      const keys = ['a', 'b', 'c', 'd'];
      for (let turn = 0; turn < 5; turn += 1) {
        await bus.publish(
          topic,
          keys.map((key) => message(key, `${key}${String(turn)}`)),
        );
      }
      const taken = await take(await bus.offsets(topic, 'earliest'), 20);
      for (const key of keys) {
        const ofKey = taken.filter((one) => one.key === key);
        expect(ofKey.map(({ value }) => value)).toEqual([0, 1, 2, 3, 4].map((turn) => `${key}${String(turn)}`));
        expect(new Set(ofKey.map(({ partition }) => partition))).toEqual(new Set([bus.partitionOf(topic, key)]));
      }
      expect(taken[0]).toMatchObject({ headers: { ce_type: 'test' }, timestamp: now });
    });

    it('gives from "latest" only what is published afterwards', async () => {
      await bus.publish(topic, [message('a', 'before')]);
      const from = await bus.offsets(topic, 'latest');
      const taking = take(from, 1);
      await bus.publish(topic, [message('a', 'after')]);
      expect((await taking).map(({ value }) => value)).toEqual(['after']);
    });

    it('resumes after an offset, in one partition alone', async () => {
      await bus.publish(
        topic,
        ['1', '2', '3'].map((text) => message('a', text)),
      );
      const all = await take(await bus.offsets(topic, 'earliest'), 3);
      const second = all[1];
      const rest = await take(new Map([[second?.partition ?? -1, second?.offset ?? '']]), 2);
      expect(rest.map(({ value }) => value)).toEqual(['2', '3']);
    });

    it('finds offsets by time', async () => {
      const times = [0, 1_000, 2_000].map((later) => now + later);
      await bus.publish(
        topic,
        times.map((time) => message('a', String(time - now), time)),
      );
      const taken = await take(await bus.offsets(topic, now + 500), 2);
      expect(taken.map(({ value }) => value)).toEqual(['1000', '2000']);
      expect(await bus.offsets(topic, now + 5_000)).toEqual(await bus.offsets(topic, 'latest'));
    });

    it('says where the newest message of each partition is, and which partition is empty', async () => {
      const isEmpty = ({ earliest, latest }: Record<'earliest' | 'latest', Offsets>, partition: number) =>
        earliest.get(partition) === latest.get(partition);
      const ends = async () => ({
        earliest: await bus.offsets(topic, 'earliest'),
        latest: await bus.offsets(topic, 'latest'),
      });
      const before = await ends();
      expect([0, 1, 2].every((partition) => isEmpty(before, partition))).toBe(true);
      await bus.publish(
        topic,
        ['1', '2', '3'].map((text) => message('a', text)),
      );
      await bus.publish(topic, [message('b', '4'), message('c', '5'), message('d', '6')]);
      const after = await ends();
      const taken = await take(after.earliest, 6);
      for (const partition of [0, 1, 2]) {
        const newest = taken.findLast((one) => one.partition === partition);
        expect(isEmpty(after, partition)).toBe(newest === undefined);
        if (newest) expect(after.latest.get(partition)).toBe(String(BigInt(newest.offset) + 1n));
      }
    });

    it('keeps topics apart', async () => {
      const other = { ...topic, name: `test-${randomUUID()}` };
      await bus.createTopics([other]);
      await bus.publish(other, [message('a', 'other')]);
      await bus.publish(topic, [message('a', 'mine')]);
      expect((await take(await bus.offsets(topic, 'earliest'), 1)).map(({ value }) => value)).toEqual(['mine']);
    });

    it('refuses a topic with another partition count, and takes the same one again', async () => {
      await bus.createTopics([topic]);
      await expect((async () => bus.createTopics([{ ...topic, partitions: 12 }]))()).rejects.toThrow(/partitions/);
    });

    it('ends a waiting consumer when it is aborted', async () => {
      const stop = new AbortController();
      setImmediate(() => {
        stop.abort();
      });
      for await (const batch of bus.consume(topic, await bus.offsets(topic, 'latest'), stop.signal)) {
        expect(batch).toBeUndefined();
      }
      expect(stop.signal.aborted).toBe(true);
    });
  });
};
