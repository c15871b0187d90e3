import { expect, it } from '@jest/globals';
import { topics } from '../../schemas/topics.ts';
import { eventually } from '../../shared/testing/eventually.ts';
import { KafkaProxy } from '../../shared/testing/kafka-proxy.ts';
import { whereServer } from '../../shared/testing/servers.ts';
import { connectForTests, kafkaForTests } from '../../shared/testing/test-bus.kafka.ts';
import { aRecord, CHAIN_ID } from './testing/fake-catcher.ts';
import { streamUnderTest } from './testing/stream-under-test.module.ts';

whereServer('KAFKA_BROKERS', (brokers) => {
  const settings = { ...kafkaForTests(brokers), TOPIC_PARTITIONS: { [topics.chainEvents.name]: 2 } };

  it('a stream without a group coordinator is not ready and refuses subscriptions until it is caught up', async () => {
    await using started = new AsyncDisposableStack();
    const proxy = await KafkaProxy.start(brokers);
    started.defer(() => proxy.close());
    proxy.refusesGroups = true;
    const messageBus = await connectForTests({ ...settings, KAFKA_BROKERS: [proxy.brokers] });
    started.defer(() => messageBus.close());
    const stream = await streamUnderTest({ messageBus });
    started.defer(() => stream.close());
    const ready = async () => (await fetch(`${stream.url()}/health/ready`)).status;
    const contractAddress = await stream.registerContract();
    const client = await stream.connect();
    await client.subscribe(contractAddress);

    await stream.catcher.observe(aRecord({ contractAddress, block: 1 }));
    await eventually(async () => (await ready()) === 503, 20_000, 'the stream must say that it is behind');
    const late = await stream.connect();
    const subscription = { chainId: CHAIN_ID, contractAddress, eventSignature: 'Transfer' };
    expect(await late.refused('subscribe', subscription)).toMatchObject({ code: 'dependency_unavailable' });
    expect(client.events).toEqual([]);

    proxy.refusesGroups = false;
    expect((await client.waitForEvents(1, 20_000)).map(({ event }) => event.BlockNumber)).toEqual([1]);
    await eventually(async () => (await ready()) === 200, 5_000, 'the stream must be ready again');
    expect(await late.subscribe(contractAddress)).toMatchObject({ state: 'live' });
  }, 150_000);
});
