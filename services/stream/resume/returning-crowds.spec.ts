import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { topics } from '../../../schemas/topics.ts';
import { FollowedPartitions } from '../../../shared/message-bus/followed-partitions.ts';
import { chainEventsModel } from '../../../shared/read-models/event-catcher/chain-events.ts';
import { aRecord, newContract } from '../testing/fake-catcher.ts';
import { feedUnderTest, MemoryBuffer, MemorySubscriber, withinTicks } from '../testing/feed-under-test.ts';

const CLIENTS = 1_000;
const MESSAGES = 900;
const ROOM = 10_000;
/** Few, and not one for each client. */
const READS_MAX = 4;

describe('a crowd of clients that return at once', () => {
  const contractAddress = newContract();
  let feed: Awaited<ReturnType<typeof feedUnderTest>>;
  let positions: number[];
  /** The first offset of each read of one partition. */
  let reads: string[];
  let failure: Error | undefined;
  let users: number;
  beforeEach(async () => {
    feed = await feedUnderTest();
    await feed.catcher.register(contractAddress);
    positions = [];
    for (let block = 0; block < MESSAGES; block += 1) {
      // One in three is of the contract; all are stored within a minute.
      const ofOther = block % 3 !== 0;
      feed.clock.time += 20;
      const record = aRecord({ contractAddress, block, ...(ofOther && { signature: 'Other(uint256)' }) });
      const { position } = feed.catcher.store('observed', record);
      if (!ofOther) positions.push(position);
    }
    await feed.catcher.project();
    await feed.catcher.publish();
    feed.clock.time += 3_600_000;
    // The memory of the node begins with the newest message.
    await feed.restart();
    await feed.subscribe(contractAddress);
    [reads, failure, users] = [[], undefined, 0];
    const { messageBus } = feed;
    const consume = messageBus.consume.bind(messageBus);
    messageBus.consume = (topic, from, signal) => {
      // Not the live tail, which follows the partition.
      const [[, offset] = []] = from instanceof FollowedPartitions ? [] : from;
      if (topic === topics.chainEvents && offset !== undefined) reads.push(offset);
      if (failure) throw failure;
      return consume(topic, from, signal);
    };
  });
  afterEach(() => feed.close());

  const resume = async (at: number, { signal = new AbortController().signal } = {}) => {
    const cursor = await feed.cursorOf(contractAddress, positions[at] ?? 0);
    users += 1;
    const subscriber = new MemorySubscriber(new MemoryBuffer(ROOM), `user:${String(users)}`, signal);
    return { at, subscriber, opened: feed.subscribe(contractAddress, { cursor }, ROOM, subscriber) };
  };
  const sentTo = ({ subscriber }: { subscriber: MemorySubscriber }) =>
    subscriber.buffer.sent.map(({ position }) => position);
  const isLive = ({ subscriber }: { subscriber: MemorySubscriber }) =>
    subscriber.emitted.some(({ name }) => name === 'live');
  const expectWhole = (client: { at: number; subscriber: MemorySubscriber }) => {
    expect(sentTo(client)).toEqual(positions.slice(client.at + 1));
    expect(client.subscriber.emitted.map(({ name }) => name)).toEqual(['live']);
  };

  it('from one place reads the bus as often as one client does', async () => {
    const one = await resume(10);
    await withinTicks(() => isLive(one), 'the client must catch up');
    const readsOfOne = reads.length;
    reads = [];
    const clients = await Promise.all(Array.from({ length: CLIENTS }, () => resume(10)));
    await withinTicks(() => clients.every(isLive), 'all clients must catch up');
    for (const client of [one, ...clients]) expectWhole(client);
    expect(readsOfOne).toBeLessThanOrEqual(READS_MAX);
    expect(reads.length).toBeLessThanOrEqual(readsOfOne);
  });

  it('from many places shares the reads, and each gets exactly what follows its own cursor', async () => {
    const clients = await Promise.all(Array.from({ length: CLIENTS }, (_, at) => resume(at % positions.length)));
    await withinTicks(() => clients.every(isLive), 'all clients must catch up');
    for (const client of clients) expectWhole(client);
    expect(reads.length).toBeLessThanOrEqual(READS_MAX);
  });

  it('is served also when clients leave while the others wait', async () => {
    const leaving = new AbortController();
    const left = await Promise.all(Array.from({ length: 50 }, (_, at) => resume(at, leaving)));
    const stayed = await Promise.all(Array.from({ length: 50 }, (_, at) => resume(at)));
    await withinTicks(() => left.some(({ subscriber }) => subscriber.subscriptions.size > 0), 'one must be answered');
    leaving.abort(new Error('the client left'));
    for (const { subscriber } of left) feed.subscriptions().closeAll(subscriber);
    await withinTicks(() => stayed.every(isLive), 'those who stayed must catch up');
    for (const client of stayed) expectWhole(client);
  });

  it('is refused while the bus cannot be read, and served as soon as it can', async () => {
    failure = new Error('the bus is away');
    const refused = await Promise.all(Array.from({ length: 20 }, (_, at) => resume(at)));
    for (const { opened } of refused) await expect(opened).rejects.toThrow('the bus is away');
    failure = undefined;
    const again = await resume(5);
    await withinTicks(() => isLive(again), 'the client must catch up');
    expectWhole(again);
  });

  it('with cursors below everything that is kept reads the records once', async () => {
    const { readStore } = feed.historyOptions;
    const { record, count } = chainEventsModel.collections;
    let found = 0;
    const [find, getMany] = [readStore.find.bind(readStore), readStore.getMany.bind(readStore)];
    readStore.find = (collection, options) => {
      if (collection === record.name) found += 1;
      return find(collection, options);
    };
    readStore.getMany = (collection, ids) => {
      if (collection === count.name) found += 1;
      return getMany(collection, ids);
    };
    const cursor = await feed.cursorOf(contractAddress, 0);
    const gaps = Array.from({ length: 200 }, async (_, at) => {
      const subscriber = new MemorySubscriber(new MemoryBuffer(ROOM), `user:${String(at)}`);
      await feed.subscribe(contractAddress, { cursor }, ROOM, subscriber);
      return subscriber.emitted[0];
    });
    for (const gap of await Promise.all(gaps)) expect(gap).toMatchObject({ name: 'gap', message: { fromBlock: 0 } });
    expect(found).toBeLessThanOrEqual(READS_MAX);
  });
});
