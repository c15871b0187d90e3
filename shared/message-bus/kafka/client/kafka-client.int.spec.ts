import { expect, it } from '@jest/globals';
import { eventually } from '../../../testing/eventually.ts';
import { KafkaProxy } from '../../../testing/engines/kafka-proxy.ts';
import { whereServer } from '../../../testing/engines/servers.ts';
import { connectForTests, kafkaForTests } from '../../../testing/engines/test-bus.kafka.ts';

whereServer('KAFKA_BROKERS', (brokers) => {
  const settings = kafkaForTests(brokers);
  const topic = { name: 'without-groups', partitions: 2, retentionMs: 86_400_000 };
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

  it('a message bus that is closed while its consumer looks for a coordinator tries nothing any more', async () => {
    await using started = new AsyncDisposableStack();
    const proxy = await KafkaProxy.start(brokers);
    started.defer(() => proxy.close());
    const bus = await connectForTests({ ...settings, KAFKA_BROKERS: [proxy.brokers] });
    started.defer(() => bus.close());
    await bus.createTopics([topic]);
    const earliest = await bus.offsets(topic, 'earliest');
    const before = timers();
    proxy.refusesGroups = true;
    const next = bus.consume(topic, earliest, new AbortController().signal)[Symbol.asyncIterator]().next();
    await eventually(() => proxy.refusedGroups > 1, 20_000, 'the consumer must ask again');
    await bus.close();
    await eventually(() => proxy.connections === 0, 20_000, 'no connection may be left');
    const asked = proxy.refusedGroups;
    await eventually(() => timers() <= before, 20_000, 'no timer may be left');
    expect(proxy.refusedGroups).toBe(asked);
    expect(await next).toMatchObject({ done: true });
  });
});
