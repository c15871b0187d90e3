import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Topic } from '../../schemas/topics.ts';
import { eventually } from '../testing/eventually.ts';
import { FollowedPartitions } from './followed-partitions.ts';
import {
  MessageRefused,
  TopicReplaced,
  type BusMessage,
  type MessageBus,
  type MessageToPublish,
  type Offsets,
} from './message-bus.ts';
import { defaultTopicSettings, type TopicSettings } from './topic-settings.ts';

const WITHIN_MS = 15_000;

/** Defines what every adapter of the port must do. */
export const messageBusContract = (name: string, open: (topicSettings: TopicSettings) => Promise<MessageBus>): void => {
  describe(`message bus on ${name}`, () => {
    let bus: MessageBus;
    let topic: Topic;
    const now = Date.now();
    beforeAll(async () => {
      bus = await open(defaultTopicSettings);
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

    it('gives every message complete, in order per key, each key in its partition', async () => {
      const keys = ['a', 'b', 'c', 'd'];
      for (let round = 0; round < 5; round += 1) {
        await bus.publish(
          topic,
          keys.map((key) => message(key, `${key}${String(round)}`)),
        );
      }
      const taken = await take(await bus.offsets(topic, 'earliest'), 20);
      for (const key of keys) {
        const ofKey = taken.filter((one) => one.key === key);
        expect(ofKey.map(({ value }) => value)).toEqual([0, 1, 2, 3, 4].map((round) => `${key}${String(round)}`));
        expect(new Set(ofKey.map(({ partition }) => partition))).toEqual(new Set([bus.partitionOf(topic, key)]));
      }
      expect(taken[0]).toMatchObject({ headers: { ce_type: 'test' }, timestamp: now });
    });

    it('keeps the order of concurrent calls, however many messages they have', async () => {
      const texts = Array.from({ length: 2_500 }, (_, index) => String(index));
      const calls = [texts.slice(0, 1_200), texts.slice(1_200, 1_201), texts.slice(1_201)];
      await Promise.all(
        calls.map((call) =>
          bus.publish(
            topic,
            call.map((text) => message('a', text)),
          ),
        ),
      );
      const taken = await take(await bus.offsets(topic, 'earliest'), texts.length);
      expect(taken.map(({ value }) => value)).toEqual(texts);
    });

    it('gives a missing value, an empty one and text of any script unchanged', async () => {
      const headers = { ce_type: 'test', name: 'Ærøskøbing 🏝', empty: '' };
      const values = [null, '', '{"Ω":"ж"}'];
      await bus.publish(
        topic,
        values.map((value) => ({ key: 'ключ', headers, value, timestamp: now })),
      );
      const taken = await take(await bus.offsets(topic, 'earliest'), values.length);
      expect(taken.map(({ value }) => value)).toEqual(values);
      for (const one of taken) expect(one).toMatchObject({ key: 'ключ', headers });
    });

    it('refuses a message that is too large by its index, and publishes nothing from there on', async () => {
      const tooLarge = message('a', 'x'.repeat(1_000_001));
      const refusal = bus.publish(topic, [message('a', 'before'), tooLarge, message('a', 'after')]);
      await expect(refusal).rejects.toBeInstanceOf(MessageRefused);
      await expect(refusal).rejects.toMatchObject({ index: 1 });
      const largest = message('a', 'y'.repeat(999_900));
      await bus.publish(topic, [largest]);
      const taken = await take(await bus.offsets(topic, 'earliest'), 1);
      expect(taken.map(({ value }) => value).filter((value) => value !== 'before')).toEqual([largest.value]);
    });

    it('publishes nothing once the signal has aborted', async () => {
      const stop = new AbortController();
      stop.abort(new Error('stop'));
      await expect(bus.publish(topic, [message('a', 'too late')], stop.signal)).rejects.toThrow('stop');
      await bus.publish(topic, [message('a', 'in time')], new AbortController().signal);
      expect((await take(await bus.offsets(topic, 'earliest'), 1)).map(({ value }) => value)).toEqual(['in time']);
    });

    it('gives all messages to each of several consumers, and again to one that returns', async () => {
      await bus.publish(
        topic,
        ['1', '2', '3'].map((text) => message(text, text)),
      );
      const earliest = await bus.offsets(topic, 'earliest');
      const taken = await Promise.all([take(earliest, 3), take(earliest, 3)]);
      taken.push(await take(earliest, 3));
      for (const one of taken) expect(one.map(({ value }) => value).toSorted()).toEqual(['1', '2', '3']);
    });

    it('gives the next batch only after the one before was handled', async () => {
      const stop = new AbortController();
      let handling = 0;
      const seen: (string | null)[] = [];
      await bus.publish(
        topic,
        ['1', '2', '3'].map((text) => message(text, text)),
      );
      for await (const { messages } of bus.consume(topic, await bus.offsets(topic, 'earliest'), stop.signal)) {
        handling += 1;
        await new Promise((resolve) => setImmediate(resolve));
        expect(handling).toBe(1);
        handling -= 1;
        seen.push(...messages.map(({ value }) => value));
        if (seen.length === 3) stop.abort();
      }
      expect(seen.toSorted()).toEqual(['1', '2', '3']);
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

    it('throws TopicReplaced for an offset beyond the end', async () => {
      await bus.publish(topic, [message('a', '1')]);
      const partition = bus.partitionOf(topic, 'a');
      const beyond = (offset = '0') => String(BigInt(offset) + 100n);
      const latest = new Map(await bus.offsets(topic, 'latest'));
      const one = new Map([[partition, beyond(latest.get(partition))]]);
      const all = new Map(Array.from(latest, ([at, offset]) => [at, beyond(offset)]));
      for (const from of [one, all, new Map([...latest, ...one])]) {
        await expect(take(from, 1)).rejects.toBeInstanceOf(TopicReplaced);
      }
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

    it('returns the end of each partition, also of an empty one', async () => {
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

    it('refuses a topic with another partition count by the name of the setting, and accepts the same topic again', async () => {
      await bus.createTopics([topic]);
      await expect(bus.createTopics([{ ...topic, partitions: 12 }])).rejects.toThrow(
        /^TOPIC_PARTITIONS: .* 3 partitions/,
      );
    });

    it('creates as many partitions as are set for the name without the prefix', async () => {
      const set = await open({ prefix: `${randomUUID()}.`, partitions: { [topic.name]: 5 } });
      try {
        await set.createTopics([topic]);
        expect(Array.from((await set.offsets(topic, 'latest')).keys()).toSorted()).toEqual([0, 1, 2, 3, 4]);
        const keys = Array.from({ length: 100 }, (_, index) => String(index));
        expect(new Set(keys.map((key) => set.partitionOf(topic, key)))).toEqual(new Set([0, 1, 2, 3, 4]));
        await set.publish(
          topic,
          keys.map((key) => message(key, key)),
        );
        const ends = await set.offsets(topic, 'latest');
        const beginnings = await set.offsets(topic, 'earliest');
        expect(Array.from(ends).every(([partition, end]) => end !== beginnings.get(partition))).toBe(true);
        expect((await bus.offsets(topic, 'latest')).size).toBe(3);
      } finally {
        await set.close();
      }
    });

    it('follows partitions that are added and removed while it reads', async () => {
      const from = new FollowedPartitions();
      const stop = new AbortController();
      const taken: string[] = [];
      const publish = (...texts: string[]) =>
        bus.publish(
          topic,
          texts.map((text) => message('a', text)),
        );
      const partition = bus.partitionOf(topic, 'a');
      const first = (await bus.offsets(topic, 'earliest')).get(partition) ?? '';
      const reading = (async () => {
        for await (const { messages } of bus.consume(topic, from, stop.signal)) {
          for (const { value } of messages) taken.push(value ?? '');
        }
      })();
      const hasTaken = (...texts: string[]) =>
        eventually(() => taken.join() === texts.join(), WITHIN_MS, `these must be read: ${texts.join()}`);
      await eventually(() => from.isRead, WITHIN_MS, 'it must begin with nothing to read');
      await publish('1', '2');
      from.follow(partition, first);
      await hasTaken('1', '2');
      from.letGo(partition);
      await publish('3');
      from.follow((partition + 1) % 3, '0');
      // Again from the first one on.
      from.follow(partition, first);
      await hasTaken('1', '2', '1', '2', '3');
      // While it is read.
      from.follow(partition, (await bus.offsets(topic, 'latest')).get(partition) ?? '');
      await publish('4');
      await hasTaken('1', '2', '1', '2', '3', '4');
      stop.abort();
      await reading;
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

    it('ends a waiting consumer of one partition when it is aborted', async () => {
      const stop = new AbortController();
      const from = new Map([[0, (await bus.offsets(topic, 'latest')).get(0) ?? '0']]);
      setImmediate(() => {
        stop.abort();
      });
      for await (const batch of bus.consume(topic, from, stop.signal)) expect(batch).toBeUndefined();
      expect(stop.signal.aborted).toBe(true);
    });
  });
};
