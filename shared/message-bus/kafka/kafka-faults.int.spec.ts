import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { BreakableServers } from '../../testing/engines/breakable-servers.ts';
import { eventually } from '../../testing/eventually.ts';
import { kafkaSettings } from '../../testing/engines/test-bus.kafka.ts';
import { whereServer } from '../../testing/engines/servers.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { KafkaMessageBus } from './message-bus.kafka.ts';
import type { MessageBus, Offsets } from '../message-bus.ts';

const topic = { name: 'faults', partitions: 3, retentionMs: 86_400_000 };
const KEYS = ['a', 'b', 'c', 'd', 'e'];

const numbered = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    key: KEYS[(from + index) % KEYS.length] ?? '',
    headers: {},
    value: String(from + index),
    timestamp: Date.now(),
  }));

/** Collects what a consumer receives, while it continues. */
const collect = (bus: MessageBus, from: Offsets, signal: AbortSignal) => {
  const values: string[] = [];
  const ended = (async () => {
    for await (const { messages } of bus.consume(topic, from, signal))
      values.push(...messages.map(({ value }) => value ?? ''));
  })();
  return { values, ended };
};

whereServer('TEST_SERVERS', () => {
  describe('message bus on Kafka, when the broker goes away', () => {
    const folder = temporaryFolder();
    let servers: BreakableServers;
    let settings: ReturnType<typeof kafkaSettings>;
    beforeAll(async () => {
      servers = await BreakableServers.start(folder, ['kafka']);
      settings = kafkaSettings(servers.settings['KAFKA_BROKERS'] ?? '');
    }, 300_000);
    afterAll(() => servers.stop());

    const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

    it('publishes and consumes again when it is back: no message is lost or repeated, no connection stays open', async () => {
      const logged: string[] = [];
      const logger = pino({ level: 'warn' }, { write: (line: string) => logged.push(line) });
      const bus = await KafkaMessageBus.connect({ settings, logger });
      const stop = new AbortController();
      await bus.createTopics([topic]);
      const earliest = await bus.offsets(topic, 'earliest');
      const all = collect(bus, earliest, stop.signal);
      const partition = bus.partitionOf(topic, 'a');
      const one = collect(bus, new Map([[partition, '0']]), stop.signal);
      await bus.publish(topic, numbered(0, 1_000));
      const ofOne = numbered(0, 1_000).filter(({ key }) => bus.partitionOf(topic, key) === partition).length;
      await eventually(
        () => all.values.length === 1_000 && one.values.length === ofOne,
        60_000,
        'the consumers must have every message',
      );
      const before = sockets();

      const killedAt = performance.now();
      await servers.kill('kafka');
      await expect(bus.publish(topic, numbered(1_000, 10))).rejects.toMatchObject({ code: 'dependency_unavailable' });
      await expect(bus.offsets(topic, 'latest')).rejects.toMatchObject({ code: 'dependency_unavailable' });
      const replaced = () => logged.filter((line) => line.includes('is replaced')).length;
      await eventually(() => replaced() > 0, 60_000, 'a consumer must be replaced while the broker is away');
      await servers.revive('kafka');

      let published = 1_000;
      const publishNext = async () => {
        await bus.publish(topic, numbered(published, 1_000));
        published += 1_000;
        return true;
      };
      await eventually(publishNext, 30_000, 'publishing must work again');
      await publishNext();
      await eventually(() => all.values.length >= published, 30_000, 'the consumer must continue');
      const expected = Array.from({ length: published }, (_, index) => String(index));
      expect(all.values.toSorted((left, right) => Number(left) - Number(right))).toEqual(expected);
      const ofPartition = expected.filter(
        (_, index) => bus.partitionOf(topic, KEYS[index % KEYS.length] ?? '') === partition,
      );
      await eventually(
        () => one.values.length >= ofPartition.length,
        30_000,
        'the reader of one partition must continue',
      );
      expect(one.values).toEqual(ofPartition);
      for (const key of KEYS) {
        const ofKey = all.values.filter((value) => KEYS[Number(value) % KEYS.length] === key);
        expect(ofKey).toEqual(ofKey.toSorted((left, right) => Number(left) - Number(right)));
      }
      expect(replaced()).toBeLessThanOrEqual(1 + (performance.now() - killedAt) / 30_000);
      await eventually(() => sockets() <= before, 15_000, 'no connection may stay open');
      stop.abort();
      await Promise.all([all.ended, one.ended]);
      await bus.close();
    });

    it('closes while the broker is away, and a start then names the setting', async () => {
      const logged: string[] = [];
      const bus = await KafkaMessageBus.connect({
        settings,
        logger: pino({ level: 'warn' }, { write: (line: string) => logged.push(line) }),
      });
      const stop = new AbortController();
      await bus.createTopics([topic]);
      const all = collect(bus, await bus.offsets(topic, 'earliest'), stop.signal);
      await eventually(() => all.values.length > 0, 30_000, 'the consumer must work');
      await servers.kill('kafka');
      const publishing = expect(bus.publish(topic, numbered(0, 10))).rejects.toMatchObject({
        code: 'dependency_unavailable',
      });
      await eventually(
        () => logged.some((line) => line.includes('ECONNREFUSED')),
        10_000,
        'the failed connection must be logged',
      );
      await bus.close();
      await all.ended;
      await publishing;

      const logger = pino({ level: 'silent' });
      await expect(KafkaMessageBus.connect({ settings, logger })).rejects.toThrow(
        `KAFKA_BROKERS: no Kafka answers at ${settings.KAFKA_BROKERS.join()}`,
      );
      await expect(
        KafkaMessageBus.connect({ settings: { ...settings, KAFKA_TLS: '/nowhere.pem' }, logger }),
      ).rejects.toThrow('KAFKA_TLS: /nowhere.pem is not a file with certificates');
    });
  });
});
