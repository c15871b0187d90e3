import { expect, it } from '@jest/globals';
import { pino } from 'pino';
import { eventExamples } from '../../schemas/examples/event-examples.ts';
import { topics } from '../../schemas/topics.ts';
import { systemClock } from '../../shared/primitives/clock.ts';
import { MemoryEventStore } from '../../shared/testing/engines/event-store.memory.ts';
import { asAdmin } from '../../shared/testing/engines/kafka-admin.kafka.ts';
import { MemoryReadStore } from '../../shared/testing/engines/read-store.memory.ts';
import { whereServer } from '../../shared/testing/engines/servers.ts';
import { connectForTests, kafkaForTests } from '../../shared/testing/engines/test-bus.kafka.ts';
import { anEvent } from '../../shared/testing/event-builder.ts';
import { eventually } from '../../shared/testing/eventually.ts';
import { RELAY_CHECKPOINT } from './publish-events/checkpoint.ts';
import { relayLoop } from './publish-events/relay-loop.ts';
import { replayTopic } from './replay-topic.ts';

whereServer('KAFKA_BROKERS', (brokers) => {
  const settings = kafkaForTests(brokers);

  it('a replay publishes what was removed from a Kafka topic, and finds nothing a second time', async () => {
    const messageBus = await connectForTests(settings);
    const eventStore = new MemoryEventStore();
    const readStore = new MemoryReadStore();
    const system = {
      ...{ eventStore, readStore, messageBus, clock: systemClock },
      ...{ edgeKey: Buffer.alloc(32, 7), logger: pino({ level: 'silent' }) },
    };
    const login = () => anEvent({ type: 'UserLoggedIn', data: eventExamples.UserLoggedIn, time: Date.now() });
    const head = (await eventStore.append('user-usr_1', -1, [login(), login(), login(), login()])).position;
    const relay = relayLoop(system);
    relay.start();
    const isPublished = async () => (await readStore.position(RELAY_CHECKPOINT)) === head;
    await eventually(isPublished, 60_000, 'the relay must publish every login');
    await relay.stop();
    const partition = messageBus.partitionOf(topics.users, 'usr_1');
    const lostUpTo = { partition, offset: '3' };
    const topic = settings.TOPIC_PREFIX + topics.users.name;
    await asAdmin(settings.KAFKA_BROKERS, async (admin) => {
      // Loads the leaders of the partitions, which kafkajs asks nobody for here.
      await eventually(() => admin.fetchTopicOffsets(topic), 60_000, 'each partition must have a leader');
      await admin.deleteTopicRecords({ topic, partitions: [lostUpTo] });
    });
    const replay = () =>
      replayTopic(
        system,
        { topic: 'users', from: 1, to: head, dryRun: false },
        new AbortController().signal,
        () => undefined,
      );
    expect(await replay()).toMatchObject({ events: 4, lost: 3, published: 3 });
    expect(await replay()).toMatchObject({ events: 4, lost: 0, published: 0 });
    await messageBus.close();
  });
});
