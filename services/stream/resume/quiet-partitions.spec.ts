import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chainEventsStream } from '../../../schemas/events/event-catcher/chain-events.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { aRecord, CHAIN_ID, newContract } from '../testing/fake-catcher.ts';
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
    const other = anEvent({ type: 'AppRevoked', data: { appId: 'app_9' } });
    await feed.eventStore.append('app-app_9', -1, [other]);
    const first = await feed.subscribe(contractAddress);
    await withinTicks(() => first.answer !== undefined, 'the node must follow the partition');
  });
  afterEach(() => feed.close());

  const store = async (block: number): Promise<void> => {
    const record = aRecord({ contractAddress, block });
    const time = feed.clock.now();
    const event = anEvent({ type: 'ChainEventObserved', data: { ...record }, time });
    const { position } = await feed.eventStore.append(
      chainEventsStream(CHAIN_ID, contractAddress),
      positions.length - 1,
      [event],
    );
    feed.catcher.stored.push({ position, change: 'observed', record, time });
    positions.push(position);
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
