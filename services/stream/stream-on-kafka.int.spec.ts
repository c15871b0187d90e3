import { describe, expect, it } from '@jest/globals';
import { topics } from '../../schemas/topics.ts';
import { connectForTests, kafkaForTests } from '../../shared/testing/engines/test-bus.kafka.ts';
import { whereServer } from '../../shared/testing/engines/servers.ts';
import { aRecord } from './testing/fake-catcher.ts';
import { streamUnderTest } from './testing/stream-under-test.module.ts';

const BLOCKS = 200;

whereServer('KAFKA_BROKERS', (brokers) => {
  const settings = { ...kafkaForTests(brokers), TOPIC_PARTITIONS: { [topics.chainEvents.name]: 5 } };

  describe('the stream on Kafka', () => {
    it('sends events live, and after a restart the missed ones to a client that resumes', async () => {
      await using started = new AsyncDisposableStack();
      const messageBus = await connectForTests(settings);
      started.defer(() => messageBus.close());
      const stream = await streamUnderTest({ messageBus });
      started.defer(() => stream.close());
      const contracts = await Promise.all(Array.from({ length: 8 }, () => stream.registerContract()));
      const client = await stream.connect();
      for (const contractAddress of contracts) await client.subscribe(contractAddress);
      const observeBlocks = async (from: number, until: number) => {
        for (let block = from; block < until; block += 1) {
          const contractAddress = contracts[block % contracts.length] ?? '';
          stream.catcher.store('observed', aRecord({ contractAddress, block }));
          if (block % 10 === 0) await stream.catcher.publish({ repeat: block % 20 });
        }
        await stream.catcher.publish();
      };
      const blocksOf = (events: typeof client.events, contractAddress: string) =>
        events.filter(({ event }) => event.ContractAddress === contractAddress).map(({ event }) => event.BlockNumber);
      const observedBlocks = (contractAddress: string, from: number, until: number) =>
        Array.from({ length: until - from }, (_, at) => from + at).filter(
          (block) => contracts[block % contracts.length] === contractAddress,
        );

      await observeBlocks(0, BLOCKS / 2);
      const live = await client.waitForEvents(BLOCKS / 2);
      for (const contractAddress of contracts) {
        expect(blocksOf(live, contractAddress)).toEqual(observedBlocks(contractAddress, 0, BLOCKS / 2));
      }

      await stream.restart();
      await observeBlocks(BLOCKS / 2, BLOCKS);
      const late = await stream.connect();
      const [first] = live;
      if (!first) throw new Error('the client received no event');
      const { BlockNumber, ContractAddress } = first.event;
      await late.subscribe(ContractAddress, { cursor: first.cursor });
      const missed = observedBlocks(ContractAddress, BlockNumber + 1, BLOCKS);
      await late.waitForEvents(missed.length);
      expect(blocksOf(late.events, ContractAddress)).toEqual(missed);
    });
  });
});
