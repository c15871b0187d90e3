import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import kafkajs from 'kafkajs';
import type { Topic } from '../../../schemas/topics.ts';
import { asAdmin } from '../../testing/engines/kafka-admin.kafka.ts';
import { KafkaProxy } from '../../testing/engines/kafka-proxy.ts';
import { connectForTests, kafkaForTests } from '../../testing/engines/test-bus.kafka.ts';
import { whereServer } from '../../testing/engines/servers.ts';
import type { KafkaMessageBus } from './message-bus.kafka.ts';
import type { MessageToPublish } from '../message-bus.ts';

const CODECS = { zstd: 4, gzip: 1, none: 0 } as const;

whereServer('KAFKA_BROKERS', (brokers) => {
  const settings = kafkaForTests(brokers);
  const topic: Topic = { name: 'published', partitions: 1, retentionMs: 86_400_000 };

  describe('a publish to Kafka', () => {
    let proxy: KafkaProxy;
    let bus: KafkaMessageBus;
    let requests: Buffer[];
    beforeEach(async () => {
      proxy = await KafkaProxy.start(brokers);
      requests = [];
      proxy.beforeProduce = (frame) => Promise.resolve(requests.push(frame));
      bus = await connectForTests({ ...settings, KAFKA_BROKERS: [proxy.brokers] });
      await bus.createTopics([topic]);
    });
    afterEach(async () => {
      await bus.close();
      await proxy.close();
    });
    const end = async () => Number((await bus.offsets(topic, 'latest')).get(0));
    const message = (value: string): MessageToPublish => ({ key: 'a', headers: {}, value, timestamp: Date.now() });
    const messages = (count: number, value = 'x') => Array.from({ length: count }, () => message(value));

    it.each(Object.entries(CODECS))('is compressed with what KAFKA_COMPRESSION says: %s', async (name, codec) => {
      await bus.close();
      const KAFKA_COMPRESSION = name as keyof typeof CODECS;
      bus = await connectForTests({ ...settings, KAFKA_BROKERS: [proxy.brokers], KAFKA_COMPRESSION });
      await bus.publish(topic, messages(10));
      expect(requests.map(codecOf)).toEqual([codec]);
    });

    it('may take longer in several requests than the timeout of one', async () => {
      const before = await end();
      proxy.beforeProduce = () => pause(700);
      const startedAt = performance.now();
      await bus.publish(topic, messages(16, 'x'.repeat(900_000)));
      expect(performance.now() - startedAt).toBeGreaterThan(10_000);
      expect(await end()).toBe(before + 16);
    });

    it('ends between two requests when its signal aborts', async () => {
      const before = await end();
      const stop = new AbortController();
      proxy.beforeProduce = (frame) => {
        if (requests.push(frame) === 2) stop.abort(new Error('stop'));
        return Promise.resolve();
      };
      await expect(bus.publish(topic, messages(2_000), stop.signal)).rejects.toThrow('stop');
      expect(requests).toHaveLength(2);
      expect(await end()).toBe(before + 1_000);
    });

    it('fails soon after its signal aborts when the broker does not answer', async () => {
      const stop = new AbortController();
      const held = Promise.withResolvers<undefined>();
      proxy.beforeProduce = () => {
        stop.abort(new Error('stop'));
        return held.promise;
      };
      await expect(bus.publish(topic, messages(1), stop.signal)).rejects.toMatchObject({
        code: 'dependency_unavailable',
        // Without the signal, a request has 10 s.
        cause: { message: 'no answer within 2000 ms' },
      });
      held.resolve(undefined);
    });

    it('is repeated by halves when the broker refuses a message, until that message is found', async () => {
      const small = { ...topic, name: 'small' };
      await bus.createTopics([small]);
      const configEntries = [{ name: 'max.message.bytes', value: '20000' }];
      const name = settings.TOPIC_PREFIX + small.name;
      const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name, configEntries }];
      await asAdmin(settings.KAFKA_BROKERS, (admin) => admin.alterConfigs({ validateOnly: false, resources }));
      const tooLarge = message(Array.from({ length: 2_000 }, () => crypto.randomUUID()).join(''));
      const refusal = bus.publish(small, [...messages(300), tooLarge, ...messages(199)]);
      await expect(refusal).rejects.toMatchObject({ name: 'MessageRefused', index: 300 });
      expect(requests.length).toBeGreaterThan(2);
      expect(requests.length).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(500)));
      expect((await bus.offsets(small, 'latest')).get(0)).toBe('300');
    });
  });
});

/** Returns the codec of the first batch in a produce request, from its attributes. */
const codecOf = (frame: Buffer): number => {
  let at = 12;
  /** Skips a text, which may be null. */
  const skipText = () => {
    at += 2 + Math.max(0, frame.readInt16BE(at));
  };
  skipText(); // client
  skipText(); // transaction
  at += 2 + 4 + 4; // acknowledgements, timeout, how many topics
  skipText(); // topic
  at += 4 + 4 + 4; // how many partitions, partition, bytes
  return frame.readInt16BE(at + 8 + 4 + 4 + 1 + 4) & 0x07; // offset, bytes, epoch, format, checksum
};
