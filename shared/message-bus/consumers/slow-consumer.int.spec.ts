import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { EventPattern, Payload } from '@nestjs/microservices';
import kafkajs from 'kafkajs';
import type { BusBatch } from '../message-bus.ts';
import { eventually } from '../../testing/eventually.ts';
import { asAdmin, groupsOf } from '../../testing/engines/kafka-admin.kafka.ts';
import { connectForTests, kafkaForTests } from '../../testing/engines/test-bus.kafka.ts';
import { whereServer } from '../../testing/engines/servers.ts';
import { testFoundation } from '../../testing/test-foundation.ts';
import { BatchServer } from './batch-server.ts';

const topic = { name: 'slow', partitions: 3, retentionMs: 86_400_000 };
/** The same as TopicFollower's: a member without a heartbeat for this long is removed from its group. */
const SESSION_TIMEOUT_MS = 10_000;

whereServer('KAFKA_BROKERS', (brokers) => {
  const settings = kafkaForTests(brokers);
  const kafka = new kafkajs.Kafka({ brokers: settings.KAFKA_BROKERS, logLevel: kafkajs.logLevel.NOTHING });
  const topicName = settings.TOPIC_PREFIX + topic.name;

  /** Returns the members of the group as the broker knows them. */
  const membersOf = (groupPrefix: string): Promise<string[]> =>
    asAdmin(settings.KAFKA_BROKERS, async (admin) => {
      const groups = await groupsOf(admin, groupPrefix);
      return groups.flatMap(({ members }) =>
        members.filter(({ memberAssignment }) => memberAssignment.includes(topicName)).map(({ memberId }) => memberId),
      );
    });

  /** Starts a kafkajs consumer without our code, whose handler waits until it is released. */
  const startPlainConsumer = async (groupId: string) => {
    const consumer = kafka.consumer({ groupId, sessionTimeout: SESSION_TIMEOUT_MS, heartbeatInterval: 3_000 });
    const { promise: held, resolve: release } = Promise.withResolvers<undefined>();
    await consumer.connect();
    await consumer.subscribe({ topics: [topicName], fromBeginning: true });
    await consumer.run({ eachMessage: () => held.then(() => undefined) });
    return {
      stop: async () => {
        release(undefined);
        await consumer.disconnect();
      },
    };
  };

  describe('a consumer that handles a batch for longer than the session timeout', () => {
    it('stays in its group, and receives everything once and in order', async () => {
      await using started = new AsyncDisposableStack();
      const messageBus = await connectForTests(settings);
      started.defer(() => messageBus.close());
      await messageBus.createTopics([topic]);
      const publish = (from: number, until: number) =>
        messageBus.publish(
          topic,
          Array.from({ length: until - from }, (_, at) => ({
            key: `k${String(at % 10)}`,
            headers: {},
            value: String(from + at),
            timestamp: Date.now(),
          })),
        );

      const given: BusBatch['messages'] = [];
      const { promise: held, resolve: release } = Promise.withResolvers<undefined>();
      @Controller()
      class Slow {
        @EventPattern([topic.name])
        async take(@Payload() batch: BusBatch): Promise<void> {
          given.push(...batch.messages);
          await held;
        }
      }
      @Module({ controllers: [Slow] })
      class Root {}
      const { logger, logged } = await testFoundation();
      const startAt = () => messageBus.offsets(topic, 'earliest');
      const server = new BatchServer({ messageBus, logger, topics: [topic], startAt });
      const app = await NestFactory.createMicroservice(Root, { strategy: server, logger: false, abortOnError: false });
      started.defer(() => app.close());
      started.defer(() => release(undefined));
      await app.listen();

      await publish(0, 1_000);
      await eventually(() => given.length > 0, 30_000, 'the first batch must arrive');
      const inFlight = given.length;
      const ours = await membersOf('annals-');
      expect(ours).toHaveLength(1);
      const plainGroup = `plain-${randomUUID()}`;
      const plain = await startPlainConsumer(plainGroup);
      started.defer(() => plain.stop());
      await eventually(async () => (await membersOf(plainGroup)).length === 1, 30_000, 'the other consumer must join');
      await publish(1_000, 2_000);
      await eventually(
        async () => (await membersOf(plainGroup)).length === 0,
        30_000,
        'the other consumer must be removed from its group',
      );
      expect(await membersOf('annals-')).toEqual(ours);
      expect(given).toHaveLength(inFlight);

      release(undefined);
      await eventually(() => given.length >= 2_000, 30_000, 'everything must arrive');
      expect(await membersOf('annals-')).toEqual(ours);
      expect(given.map(({ value }) => Number(value)).sort((one, other) => one - other)).toEqual(
        Array.from({ length: 2_000 }, (_, at) => at),
      );
      for (const ofPartition of Map.groupBy(given, ({ partition }) => partition).values()) {
        const values = ofPartition.map(({ value }) => Number(value));
        expect(values).toEqual(values.toSorted((one, other) => one - other));
      }
      expect(logged).toEqual([]);
    }, 150_000);
  });
});
