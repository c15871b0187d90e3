import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import kafkajs, { type GroupDescription, type Kafka, type Message, type Producer } from 'kafkajs';
import { allTopics, type Topic } from '../../../schemas/topics.ts';
import { eventually } from '../../testing/eventually.ts';
import { asAdmin, groupsOf } from '../../testing/engines/kafka-admin.kafka.ts';
import { connectForTests, kafkaForTests } from '../../testing/engines/test-bus.kafka.ts';
import { whereServer } from '../../testing/engines/servers.ts';
import { messageBusContract } from '../message-bus.contract.ts';
import type { KafkaMessageBus } from './message-bus.kafka.ts';
import { TopicReplaced, type BusMessage, type MessageBus, type Offsets } from '../message-bus.ts';
import { pause } from '../../primitives/waiting/pause.ts';

const { CompressionTypes, ConfigResourceTypes, Partitioners } = kafkajs;

whereServer('KAFKA_BROKERS', (brokers) => {
  const settings = kafkaForTests(brokers);
  messageBusContract('Kafka', ({ prefix, partitions }) =>
    connectForTests({ ...settings, TOPIC_PREFIX: settings.TOPIC_PREFIX + prefix, TOPIC_PARTITIONS: partitions }),
  );

  describe('message bus on Kafka, beside other programs', () => {
    let bus: KafkaMessageBus;
    let other: Kafka;
    beforeAll(async () => {
      bus = await connectForTests(settings);
      other = new kafkajs.Kafka({ brokers: settings.KAFKA_BROKERS, logLevel: kafkajs.logLevel.NOTHING });
    });
    afterAll(() => bus.close());

    const nameOf = (topic: Topic) => settings.TOPIC_PREFIX + topic.name;
    const aTopic = async (partitions: number): Promise<Topic> => {
      const topic = { name: randomUUID(), partitions, retentionMs: 86_400_000 };
      await bus.createTopics([topic]);
      const hasLeaders = () => bus.offsets(topic, 'latest').then(() => true);
      await eventually(hasLeaders, 30_000, 'each partition must have a leader');
      return topic;
    };
    const produce = async (
      options: Parameters<Kafka['producer']>[0],
      send: (producer: Producer) => Promise<unknown>,
    ): Promise<void> => {
      const producer = other.producer({ createPartitioner: Partitioners.DefaultPartitioner, ...options });
      await producer.connect();
      try {
        await send(producer);
      } finally {
        await producer.disconnect();
      }
    };
    const read = async (from: MessageBus, topic: Topic, offsets: Offsets, count: number): Promise<BusMessage[]> => {
      const stop = new AbortController();
      const taken: BusMessage[] = [];
      for await (const { messages } of from.consume(topic, offsets, stop.signal)) {
        taken.push(...messages);
        if (taken.length >= count) stop.abort();
      }
      return taken;
    };
    /** Reads one partition as an application does, and all partitions. */
    const readBothWays = async (
      topic: Topic,
      partition: number,
      from: string,
      count: number,
    ): Promise<BusMessage[][]> => {
      const all = new Map(await bus.offsets(topic, 'latest')).set(partition, from);
      return [await read(bus, topic, new Map([[partition, from]]), count), await read(bus, topic, all, count)];
    };

    it('creates every topic with the partitions and the retention that the interface specifies', async () => {
      await bus.createTopics(allTopics);
      const made = await asAdmin(settings.KAFKA_BROKERS, async (admin) => {
        const names = allTopics.map(nameOf);
        const { topics } = await admin.fetchTopicMetadata({ topics: names });
        const resources = names.map((name) => ({ type: ConfigResourceTypes.TOPIC, name }));
        const configs = (await admin.describeConfigs({ resources, includeSynonyms: false })).resources;
        return topics.map(({ name, partitions }) => {
          const entries = configs.find(({ resourceName }) => resourceName === name)?.configEntries ?? [];
          const valueOf = (key: string) => entries.find(({ configName }) => configName === key)?.configValue;
          const policy = valueOf('cleanup.policy');
          const retention = Number(valueOf('retention.ms'));
          const days = retention === -1 ? null : retention / 86_400_000;
          return [name.slice(settings.TOPIC_PREFIX.length), partitions.length, policy, days] as const;
        });
      });
      expect(made.toSorted(([one], [other]) => one.localeCompare(other))).toEqual([
        ['annals.chain-events.v1', 12, 'delete', 7],
        ['annals.chain-events.v1.parked', 3, 'delete', 90],
        ['annals.contracts.v1', 3, 'delete', null],
        ['annals.contracts.v1.parked', 3, 'delete', 90],
        ['annals.transactions.v1', 12, 'delete', 30],
        ['annals.transactions.v1.parked', 3, 'delete', 90],
        ['annals.users.v1', 12, 'delete', 30],
        ['annals.users.v1.parked', 3, 'delete', 90],
      ]);
    });

    it('puts a key in the same partition as any producer with the default partitioner of Java', async () => {
      const topic = await aTopic(7);
      const keys = Array.from({ length: 200 }, (_, index) => `eip155:${String(index)}/ж`);
      await produce({}, (producer) =>
        producer.send({ topic: nameOf(topic), messages: keys.map((key) => ({ key, value: key })) }),
      );
      const taken = await read(bus, topic, await bus.offsets(topic, 'earliest'), keys.length);
      for (const { key, partition } of taken) expect(partition).toBe(bus.partitionOf(topic, key));
    });

    it('reads messages of other producers: no key, no value, binary and repeated headers, with every codec', async () => {
      const topic = await aTopic(2);
      const message: Message = {
        key: null,
        value: null,
        partition: 1,
        headers: { once: Buffer.from([0xff]), twice: ['first', 'last'] },
      };
      const codecs = ['None', 'GZIP', 'Snappy', 'LZ4', 'ZSTD'] as const;
      await produce({}, async (producer) => {
        for (const codec of codecs) {
          const compression = CompressionTypes[codec];
          const messages = [message, { ...message, key: codec, value: codec.repeat(1_000) }];
          await producer.send({ topic: nameOf(topic), messages, compression });
        }
      });
      for (const taken of await readBothWays(topic, 1, '0', 2 * codecs.length)) {
        expect(taken.map(({ key }) => key)).toEqual(codecs.flatMap((codec) => ['', codec]));
        expect(taken.map(({ value }) => value)).toEqual(codecs.flatMap((codec) => [null, codec.repeat(1_000)]));
        expect(taken[0]?.headers).toEqual({ once: '\ufffd', twice: 'last' });
      }
    });

    it('skips messages of aborted transactions, and the control records of transactions', async () => {
      const topic = await aTopic(2);
      const options = { transactionalId: randomUUID(), idempotent: true, maxInFlightRequests: 1 };
      await produce(options, async (producer) => {
        for (const outcome of ['abort', 'commit'] as const) {
          const transaction = await producer.transaction();
          await transaction.send({ topic: nameOf(topic), messages: [{ partition: 0, value: outcome }] });
          await transaction[outcome]();
        }
      });
      await produce({}, (producer) =>
        producer.send({ topic: nameOf(topic), messages: [{ partition: 0, value: 'after' }] }),
      );
      for (const taken of await readBothWays(topic, 0, '0', 2)) {
        expect(taken.map(({ value }) => value)).toEqual(['commit', 'after']);
      }
    });

    it('throws TopicReplaced when a followed topic is deleted and created again', async () => {
      const topic = await aTopic(2);
      const message = (value: string) => ({ key: 'a', headers: {}, value, timestamp: Date.now() });
      // More than the new topic ever has, however often the publishing below is repeated.
      const texts = Array.from({ length: 1_000 }, (_, index) => String(index));
      await bus.publish(topic, texts.map(message));
      const partition = bus.partitionOf(topic, 'a');
      const earliest = await bus.offsets(topic, 'earliest');
      let [taken, ended] = [0, 0];
      const stop = new AbortController();
      const follow = async (from: Offsets) => {
        try {
          for await (const { messages } of bus.consume(topic, from, stop.signal)) taken += messages.length;
        } finally {
          ended += 1;
        }
      };
      const following = Promise.allSettled([follow(earliest), follow(new Map([[partition, '0']]))]);
      await eventually(() => taken === 2_000, 30_000, 'both must have every message');
      await asAdmin(settings.KAFKA_BROKERS, (admin) => admin.deleteTopics({ topics: [nameOf(topic)] }));
      await eventually(() => bus.createTopics([topic]).then(() => true), 30_000, 'the topic must be created again');
      await eventually(() => bus.publish(topic, [message('new')]).then(() => true), 20_000, 'publishing must continue');
      await eventually(() => ended === 2, 60_000, 'both must end').finally(() => stop.abort());
      expect(await following).toEqual([
        { status: 'rejected', reason: expect.any(TopicReplaced) },
        { status: 'rejected', reason: expect.any(TopicReplaced) },
      ]);
      const again = await read(bus, topic, await bus.offsets(topic, 'earliest'), 1);
      expect(again[0]?.value).toBe('new');
    });

    it('continues at the first kept message when an offset was deleted', async () => {
      const topic = await aTopic(2);
      const texts = ['0', '1', '2', '3', '4'];
      await produce({}, (producer) =>
        producer.send({ topic: nameOf(topic), messages: texts.map((value) => ({ partition: 0, value })) }),
      );
      await asAdmin(settings.KAFKA_BROKERS, async (admin) => {
        // Here kafkajs learns the leader of the partition.
        await admin.fetchTopicOffsets(nameOf(topic));
        await admin.deleteTopicRecords({ topic: nameOf(topic), partitions: [{ partition: 0, offset: '3' }] });
      });
      for (const taken of await readBothWays(topic, 0, '1', 2)) {
        expect(taken.map(({ offset }) => offset)).toEqual(['3', '4']);
      }
    });

    it('names the message that a broker refuses for its own reasons, and can publish again', async () => {
      const topic = await aTopic(2);
      await asAdmin(settings.KAFKA_BROKERS, (admin) =>
        admin.alterConfigs({
          validateOnly: false,
          resources: [
            {
              type: ConfigResourceTypes.TOPIC,
              name: nameOf(topic),
              configEntries: [{ name: 'max.message.bytes', value: '2000' }],
            },
          ],
        }),
      );
      const message = (value: string) => ({ key: 'a', headers: {}, value, timestamp: Date.now() });
      const tooLarge = message(Array.from({ length: 300 }, () => randomUUID()).join(''));
      const refusal = bus.publish(topic, [message('before'), tooLarge, message('after')]);
      await expect(refusal).rejects.toMatchObject({ name: 'MessageRefused', index: 1 });
      await bus.publish(topic, [message('next')]);
      const taken = await read(bus, topic, await bus.offsets(topic, 'earliest'), 2);
      expect(taken.map(({ value }) => value)).toEqual(['before', 'next']);
    });

    it.each(['0', '1'] as const)('publishes with acks=%s too, when that is set', async (acks) => {
      const topic = await aTopic(2);
      const loose = await connectForTests({ ...settings, KAFKA_ACKS: acks });
      const arrived = new AbortController();
      const taken = read(loose, topic, await loose.offsets(topic, 'earliest'), 1).finally(() => {
        arrived.abort();
      });
      // With acks=0 nobody is told that a broker did not accept a message, for example because a partition has no
      // leader yet.
      while (!arrived.signal.aborted) {
        await loose.publish(topic, [{ key: 'a', headers: {}, value: acks, timestamp: Date.now() }]);
        await pause(100, arrived.signal);
      }
      expect((await taken)[0]?.value).toBe(acks);
      await loose.close();
    });

    it('deletes its consumer groups', async () => {
      const topic = await aTopic(2);
      const mine = await connectForTests(settings);
      const groups = () => asAdmin(settings.KAFKA_BROKERS, (admin) => groupsOf(admin, 'annals-'));
      const topicName = settings.TOPIC_PREFIX + topic.name;
      const readsTopic = ({ members }: GroupDescription) =>
        members.some(({ memberAssignment }) => memberAssignment.includes(topicName));
      const stop = new AbortController();
      const waiting = mine
        .consume(topic, await mine.offsets(topic, 'latest'), stop.signal)
        [Symbol.asyncIterator]()
        .next();
      const joined = await eventually(
        async () => (await groups()).find(readsTopic)?.groupId,
        10_000,
        'the consumer must join a group',
      );
      stop.abort();
      expect(await waiting).toMatchObject({ done: true });
      await mine.close();
      expect((await groups()).map(({ groupId }) => groupId)).not.toContain(joined);
    });
  });
});
