import { describe, expect, it } from '@jest/globals';
import type { ChainProgressEvent } from '../../../schemas/events/chain-events.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { progressOf } from '../domain/watch-progress.ts';
import { gated } from '../testing/faulty-readers.ts';
import { approvalWatch, transferWatch } from '../testing/example-watches.ts';
import { FollowerUnderTest, mineSome, otherContract } from '../testing/follower-under-test.ts';
import { overriding } from '../testing/overriding.ts';

const others = ['wch_a', 'wch_b', 'wch_c', 'wch_d'].map((watchId) => ({ watchId, contractAddress: otherContract }));

/** The id, start block and position of a watch, as in its read model. */
const documentOf = async ({ store }: FollowerUnderTest, watchId: string) => {
  const [first] = await store.read(`watch-${watchId}`);
  if (!first) throw new Error(`${watchId} is not registered`);
  const startBlock = Number(first.data['startBlock']);
  return { id: watchId, startBlock, readSince: first.position, isRemoved: false, paused: null };
};

/** A store that notes the number of unfinished ranges each time progress is stored. */
const counting = (store: EventStore) => {
  const unfinished: number[] = [];
  const append: EventStore['append'] = (stream, revision, events) => {
    for (const { type, data } of events) {
      if (type === 'ChainAdvanced') {
        const { backfills } = data as ChainProgressEvent['data'];
        unfinished.push(backfills.flatMap(({ watchIds }) => watchIds).length);
      }
    }
    return store.append(stream, revision, events);
  };
  return { store: overriding<EventStore>(store, { append }), unfinished };
};

describe('registrations, when there is no room for more ranges', () => {
  it('are added in order as far as there is room, and the others as ranges are finished', async () => {
    const follower = new FollowerUnderTest({ rangesMax: 2 });
    mineSome(follower.chain, 40);
    for (const watch of others) await follower.register(watch);
    await follower.register();
    const { store, unfinished } = counting(follower.store);
    const { reader, open } = gated(follower.chain);
    follower.start({ store, reader });
    const second = await documentOf(follower, 'wch_b');
    await eventually(
      async () => (await follower.progress())?.watchesUpTo === second.readSince,
      15_000,
      'the first two must be added, and no more',
    );
    mineSome(follower.chain, 3, 1_000);
    await eventually(
      async () => (await follower.progress())?.head === follower.chain.tip.number,
      15_000,
      'the head must be followed meanwhile',
    );
    const progress = await follower.progress();
    expect(await follower.joining()).toEqual(['wch_a', 'wch_b']);
    expect(progress?.watchesUpTo).toBe(second.readSince);
    for (const { watchId } of [...others, transferWatch]) {
      expect(progressOf(await documentOf(follower, watchId), progress).state).toBe('backfilling');
    }
    open();
    await follower.expectChain();
    await follower.stop();
    expect(Math.max(...unfinished)).toBe(2);
    expect(follower.starts).toBe(1);
  });

  it('are neither lost nor added twice, whenever the process dies', async () => {
    for (let appends = 1; appends < 25; appends += 1) {
      const follower = new FollowerUnderTest({ rangesMax: 1 });
      mineSome(follower.chain, 12);
      await follower.register({ startBlock: 6 });
      await follower.extend(2);
      await follower.register({ ...approvalWatch, startBlock: 3 });
      await follower.register({ watchId: 'wch_other', contractAddress: otherContract });
      await follower.runUntilKilled(appends);
      const { store, unfinished } = counting(follower.store);
      follower.start({ store });
      await follower.expectChain();
      await follower.stop();
      expect(Math.max(0, ...unfinished)).toBeLessThanOrEqual(1);
    }
  });

  it('do not delay the stop', async () => {
    const follower = new FollowerUnderTest({ rangesMax: 1 });
    mineSome(follower.chain, 40);
    for (const watch of others) await follower.register(watch);
    follower.start({ reader: gated(follower.chain).reader });
    await eventually(async () => (await follower.progress())?.backfills.length === 1, 15_000, 'one must be added');
    await follower.stop();
    follower.start();
    await follower.expectChain();
    await follower.stop();
  });

  it('are added in order again when a development chain starts again', async () => {
    const follower = new FollowerUnderTest({ rangesMax: 2, isDevelopment: true });
    mineSome(follower.chain, 30);
    for (const watch of others) await follower.register(watch);
    await follower.register({ startBlock: 10 });
    await follower.extend(4);
    const { store, unfinished } = counting(follower.store);
    follower.start({ store });
    await follower.expectChain();
    follower.chain.rollBack(25);
    mineSome(follower.chain, 20, 900);
    await follower.expectChain();
    await follower.stop();
    expect(Math.max(...unfinished)).toBe(2);
  });
});

describe('a head that is far ahead', () => {
  it.each(['while it runs', 'between two starts'])(
    'is walked to %s, if there are more live watches than room for ranges',
    async (when) => {
      const follower = new FollowerUnderTest({ rangesMax: 2 });
      mineSome(follower.chain, 30);
      for (const watch of others) await follower.register(watch);
      await follower.register();
      const { store, unfinished } = counting(follower.store);
      follower.start({ store });
      await follower.expectChain();
      if (when === 'between two starts') await follower.stop();
      mineSome(follower.chain, 1_300, 1_000);
      if (when === 'between two starts') follower.start({ store });
      await follower.expectChain();
      await follower.stop();
      expect(Math.max(...unfinished)).toBe(2);
      expect(new Set((await follower.changes()).map(({ data }) => data.Origin))).toEqual(new Set(['backfill', 'live']));
      expect(follower.starts).toBe(when === 'between two starts' ? 2 : 1);
    },
  );
});
