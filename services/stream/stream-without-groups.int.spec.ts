import { expect, it } from '@jest/globals';
import { topics } from '../../schemas/topics.ts';
import { eventually } from '../../shared/testing/eventually.ts';
import { KafkaProxy } from '../../shared/testing/engines/kafka-proxy.ts';
import { whereServer } from '../../shared/testing/engines/servers.ts';
import { connectForTests, kafkaForTests } from '../../shared/testing/engines/test-bus.kafka.ts';
import { aRecord, CHAIN_ID } from './testing/fake-catcher.ts';
import { streamUnderTest } from './testing/stream-under-test.module.ts';

whereServer('KAFKA_BROKERS', (brokers) => {
  const settings = { ...kafkaForTests(brokers), TOPIC_PARTITIONS: { [topics.chainEvents.name]: 2 } };

  it('a stream without a group coordinator is not ready and refuses subscriptions until it reads', async () => {
    await using started = new AsyncDisposableStack();
    const proxy = await KafkaProxy.start(brokers);
    started.defer(() => proxy.close());
    proxy.refusesGroups = true;
    const messageBus = await connectForTests({ ...settings, KAFKA_BROKERS: [proxy.brokers] });
    started.defer(() => messageBus.close());
    const stream = await streamUnderTest({ messageBus, isReadyAtStart: false });
    started.defer(() => stream.close());
    const ready = async () => (await fetch(`${stream.url()}/health/ready`)).status;
    const contractAddress = await stream.registerContract();
    await eventually(() => proxy.refusedGroups > 0, 20_000, 'the consumer must ask for a coordinator');
    const early = await stream.connect();
    const subscription = { chainId: CHAIN_ID, contractAddress, eventSignature: 'Transfer' };
    expect(await early.refused('subscribe', subscription)).toMatchObject({ code: 'dependency_unavailable' });
    expect(await ready()).toBe(503);

    proxy.refusesGroups = false;
    await eventually(async () => (await ready()) === 200, 20_000, 'the stream must become ready');
    expect(await early.subscribe(contractAddress)).toMatchObject({ state: 'live' });
    await stream.catcher.observe(aRecord({ contractAddress, block: 1 }));
    expect((await early.waitForEvents(1, 20_000)).map(({ event }) => event.BlockNumber)).toEqual([1]);
  });
});
