import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chainEventsModel } from '../../../../shared/read-models/event-catcher/chain-events.ts';
import { aRecord, newContract } from '../../testing/fake-catcher.ts';
import { feedUnderTest, MemoryBuffer, MemorySubscriber, withinTicks } from '../../testing/feed-under-test.ts';

const CLIENTS = 500;
const RECORDS = 800;
const finality = 'finalized';

describe('a crowd of clients that return to final events', () => {
  const contractAddress = newContract();
  let feed: Awaited<ReturnType<typeof feedUnderTest>>;
  let positions: number[];
  let reads: number;
  let failure: Error | undefined;
  beforeEach(async () => {
    feed = await feedUnderTest();
    await feed.catcher.register(contractAddress);
    const records = Array.from({ length: RECORDS }, (_, block) => aRecord({ contractAddress, block }));
    positions = records.map((record) => feed.catcher.store('observed', record).position);
    await feed.catcher.finalize(RECORDS);
    await feed.catcher.project();
    [reads, failure] = [0, undefined];
    const { readStore } = feed.historyOptions;
    const find = readStore.find.bind(readStore);
    readStore.find = (collection, options) => {
      if (collection !== chainEventsModel.collections.record.name) return find(collection, options);
      reads += 1;
      return failure ? Promise.reject(failure) : find(collection, options);
    };
  });
  afterEach(() => feed.close());

  const resume = async (at: number) => {
    const cursor = await feed.cursorOf(contractAddress, positions[at] ?? 0, finality);
    const subscriber = new MemorySubscriber(new MemoryBuffer(RECORDS), `user:${String(at)}`);
    await feed.subscribe(contractAddress, { cursor, finality }, RECORDS, subscriber);
    const { buffer, emitted } = subscriber;
    return { at, buffer, emitted };
  };
  type Client = Awaited<ReturnType<typeof resume>>;
  const sentTo = ({ buffer }: Client) => buffer.sent.map(({ position }) => position);
  const hasEnded = ({ emitted }: Client) => emitted.length > 0;

  it('shares the reads of the read model, and each gets exactly what follows its own cursor', async () => {
    const first = await resume(0);
    await withinTicks(() => hasEnded(first), 'the first client must catch up');
    // The others find the channel followed, as those who return to a node that others use already.
    reads = 0;
    const clients = await Promise.all(Array.from({ length: CLIENTS }, (_, at) => resume(at)));
    await withinTicks(() => clients.every(hasEnded), 'all clients must catch up');
    for (const client of clients) {
      expect([sentTo(client), client.emitted.map(({ name }) => name)]).toEqual([
        positions.slice(client.at + 1),
        ['live'],
      ]);
    }
    // Without sharing, each client would read more than ten pages.
    expect(reads).toBeLessThan(30);
  });

  it('reads again after a failure', async () => {
    const first = await resume(RECORDS - 1);
    await withinTicks(() => hasEnded(first), 'the first client must catch up');
    failure = new Error('the read model is away');
    const failed = await Promise.all([resume(5), resume(700)]);
    await withinTicks(() => failed.every(hasEnded), 'the subscriptions must end');
    expect(failed.map(({ emitted }) => emitted[0]?.name)).toEqual(['stopped', 'stopped']);
    failure = undefined;
    const again = await resume(5);
    await withinTicks(() => hasEnded(again), 'the client must catch up');
    expect(sentTo(again)).toEqual(positions.slice(6));
  });
});
