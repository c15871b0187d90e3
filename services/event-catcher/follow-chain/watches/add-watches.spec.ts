import { describe, expect, it } from '@jest/globals';
import type { ChainProgressEvent } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import { inSimulatedTime } from '../../../../shared/testing/simulation/simulated-globals.ts';
import { except, gated } from '../../testing/follower/faulty-readers.ts';
import { approvalWatch, transferWatch } from '../../testing/example-watches.ts';
import { contract, FollowerUnderTest, mineSome, otherContract } from '../../testing/follower/follower-under-test.ts';
import { overriding } from '../../testing/overriding.ts';

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
  it('are deferred in order as far as there is none, until ranges are finished', async () => {
    await using follower = new FollowerUnderTest({ blocks: 40, rangesMax: 2 });
    for (const watch of others) await follower.register(watch);
    await follower.register();
    const { store, unfinished } = counting(follower.store);
    const { reader, open } = gated(follower.chain);
    follower.start({ store, reader });
    const last = await documentOf(follower, transferWatch.watchId);
    await follower.until(
      async () => ((await follower.progress())?.watchesUpTo ?? 0) >= last.readSince,
      'all of them must be added',
    );
    mineSome(follower.chain, 3, 1_000);
    await follower.until(
      async () => (await follower.progress())?.head === follower.chain.tip.number,
      'the head must be followed meanwhile',
    );
    const progress = await follower.progress();
    expect(progress?.backfills.flatMap(({ watchIds }) => watchIds)).toEqual(['wch_a', 'wch_b']);
    expect([...(await follower.deferred()).keys()]).toEqual(['wch_c', 'wch_d', transferWatch.watchId]);
    open();
    await follower.expectChain();
    await follower.stop();
    expect(Math.max(...unfinished)).toBe(2);
    expect(follower.starts).toBe(1);
  });

  it('of an app do not hold up those of another, however many and however hopeless', async () => {
    await using follower = new FollowerUnderTest({ rangesMax: 3 });
    mineSome(follower.chain, 20, 0, [otherContract]);
    for (let index = 0; index < 12; index += 1)
      await follower.register({ watchId: `wch_hopeless_${String(index)}`, startBlock: index });
    const reader = except(follower.chain, () => [contract]);
    follower.start({ reader });
    await follower.until(async () => (await follower.deferred()).size === 9, 'most of them must wait');
    await follower.register({ watchId: 'wch_other_app', contractAddress: otherContract, appId: 'app_2' });
    await follower.register({ watchId: 'wch_same_app', contractAddress: otherContract });
    const sameApp = await documentOf(follower, 'wch_same_app');
    const isLive = async () => !(await follower.joining()).some((id) => !id.startsWith('wch_hopeless'));
    await follower.until(
      async () => ((await follower.progress())?.watchesUpTo ?? 0) >= sameApp.readSince,
      'they must be added',
    );
    await follower.until(isLive, 'the others must be live');
    expect(await follower.joining()).toHaveLength(12);
    await follower.stop();
    await follower.follow();
  });

  it('that are stopped have no place, and get one when they are wanted again', async () => {
    await using follower = new FollowerUnderTest({ blocks: 20, rangesMax: 2 });
    follower.start();
    const many = Array.from({ length: 12 }, (_, index) => `wch_${String(index)}`);
    for (const watchId of many) {
      await follower.register({ watchId, contractAddress: otherContract });
      await follower.stopWatch(watchId, 'remove');
    }
    await follower.register();
    await follower.expectChain();
    expect((await follower.progress())?.backfills).toEqual([]);
    expect((await follower.deferred()).size).toBe(12);
    for (const watchId of many) await follower.readAgain(watchId);
    await follower.expectChain();
    expect((await follower.deferred()).size).toBe(0);
    await follower.stop();
    expect(follower.starts).toBe(1);
  });

  it('are neither lost nor added twice, whenever the process dies', () =>
    inSimulatedTime(async () => {
      for (let appends = 1; appends < 25; appends += 1) {
        await using follower = new FollowerUnderTest({ blocks: 12, rangesMax: 1 });
        await follower.register({ startBlock: 6 });
        await follower.extend(2);
        await follower.register({ ...approvalWatch, startBlock: 3 });
        await follower.register({ watchId: 'wch_other', contractAddress: otherContract });
        await follower.runUntilKilled(appends);
        const { store, unfinished } = counting(follower.store);
        await follower.follow({ store });
        await follower.stop();
        expect(Math.max(0, ...unfinished)).toBeLessThanOrEqual(1);
      }
    }));

  it('do not delay the stop', async () => {
    await using follower = new FollowerUnderTest({ blocks: 40, rangesMax: 1 });
    for (const watch of others) await follower.register(watch);
    follower.start({ reader: gated(follower.chain).reader });
    await follower.until(async () => (await follower.progress())?.backfills.length === 1, 'one must be added');
    await follower.stop();
    await follower.follow();
  });

  it('are added in order again when a development chain starts again', async () => {
    await using follower = new FollowerUnderTest({ blocks: 30, rangesMax: 2, isDevelopment: true });
    for (const watch of others) await follower.register(watch);
    await follower.register({ startBlock: 10 });
    await follower.extend(4);
    const { store, unfinished } = counting(follower.store);
    await follower.follow({ store });
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
    (when) =>
      inSimulatedTime(async () => {
        await using follower = new FollowerUnderTest({ blocks: 30, rangesMax: 2 });
        for (const watch of others) await follower.register(watch);
        await follower.register();
        const { store, unfinished } = counting(follower.store);
        await follower.follow({ store });
        if (when === 'between two starts') await follower.stop();
        mineSome(follower.chain, 1_300, 1_000);
        if (when === 'between two starts') follower.start({ store });
        await follower.expectChain();
        await follower.stop();
        expect(Math.max(...unfinished)).toBe(2);
        expect(new Set((await follower.changes()).map(({ data }) => data.Origin))).toEqual(
          new Set(['backfill', 'live']),
        );
        expect(follower.starts).toBe(when === 'between two starts' ? 2 : 1);
      }),
  );
});
