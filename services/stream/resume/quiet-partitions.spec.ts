import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { aRecord, newContract } from '../testing/fake-catcher.ts';
import { feedUnderTest, withinTicks, type MemorySubscriber } from '../testing/feed-under-test.ts';

describe('a node that began to follow a partition before the relay had published its first messages', () => {
  let contractAddress: string;
  let feed: Awaited<ReturnType<typeof feedUnderTest>>;
  /** The positions of the events of the contract, in order. */
  let positions: number[];
  beforeEach(async () => {
    contractAddress = newContract();
    feed = await feedUnderTest();
    await feed.catcher.register(contractAddress);
    positions = [];
    for (let block = 1; block <= 3; block += 1) await store(block);
    await feed.storeElsewhere();
    // The node follows the partition from now on.
    await feed.subscribe(contractAddress);
  });
  afterEach(() => feed.close());

  const store = async (block: number): Promise<void> => {
    positions.push(await feed.store('observed', aRecord({ contractAddress, block })));
  };
  const becomesLive = ({ emitted }: MemorySubscriber) =>
    withinTicks(() => emitted.some(({ name }) => name === 'live'), 'the subscription must become live');
  const sentTo = ({ buffer }: MemorySubscriber) => buffer.sent.map(({ position }) => position);

  it.each([1, 2, 3])(
    'makes a history live whose read model has %d of three events, once these are published',
    async (projected) => {
      await feed.catcher.project(projected);
      await feed.catcher.publish();
      const subscriber = await feed.subscribe(contractAddress, { fromBlock: 0 });
      await becomesLive(subscriber);
      expect(sentTo(subscriber)).toEqual(positions);
    },
  );

  it.each([1, 2, 3])('sends each event once while the relay has published %d of three events', async (published) => {
    await feed.catcher.project();
    await feed.catcher.publish({ limit: published });
    const cursor = await feed.cursorOf(contractAddress, positions[0] ?? 0);
    const subscriber = await feed.subscribe(contractAddress, { cursor });
    await becomesLive(subscriber);
    await store(4);
    await feed.catcher.publish();
    await withinTicks(() => sentTo(subscriber).at(-1) === positions.at(-1), 'the newest event must be sent');
    expect(sentTo(subscriber)).toEqual(positions.slice(1));
  });
});
