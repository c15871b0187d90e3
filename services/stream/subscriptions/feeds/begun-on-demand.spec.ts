import { expect, it } from '@jest/globals';
import { contractKey, topics } from '../../../../schemas/topics.ts';
import { feedUnderTest, withinTicks } from '../../testing/feed-under-test.ts';
import { aRecord, CHAIN_ID, newContract } from '../../testing/fake-catcher.ts';

const CONTRACTS = 24;
const BLOCKS = 20;

it('who subscribes while a partition begins to be read gets each later change once, and nobody is refused', async () => {
  const feed = await feedUnderTest();
  const partitionOf = (address: string) =>
    feed.messageBus.partitionOf(topics.chainEvents, contractKey(CHAIN_ID, address));
  const contracts = Array.from({ length: CONTRACTS }, newContract);
  expect(new Set(contracts.map(partitionOf)).size).toBeGreaterThan(4);
  for (const contract of contracts) await feed.catcher.register(contract);
  const observed = new Map<string, number[]>(contracts.map((contract) => [contract, []]));
  const observe = async (contractAddress: string, block: number) => {
    const { position } = await feed.catcher.observe(aRecord({ contractAddress, block }));
    observed.get(contractAddress)?.push(position);
  };
  // Half of the partitions have something before anybody asks.
  for (const contract of contracts) if (partitionOf(contract) % 2 === 0) await observe(contract, 1);
  const subscribed: { contract: string; opened: ReturnType<typeof feed.subscribe> }[] = [];
  for (let block = 2; block < BLOCKS; block += 1) {
    for (const [index, contract] of contracts.entries()) {
      if (index % 5 === block % 5) subscribed.push({ contract, opened: feed.subscribe(contract, {}, 1_000) });
      await observe(contract, block);
    }
  }
  for (const { contract, opened } of subscribed) {
    const subscriber = await opened;
    const after = feed.positionOf(subscriber.answer);
    const expected = observed.get(contract)?.filter((position) => position > after) ?? [];
    const { sent } = subscriber.buffer;
    await withinTicks(() => sent.length >= expected.length, 'what followed must be sent');
    expect(sent.map(({ position }) => position)).toEqual(expected);
  }
  await feed.close();
});
