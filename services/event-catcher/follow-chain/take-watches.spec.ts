import { describe, expect, it } from '@jest/globals';
import type { ChainProgressEvent } from '../../../schemas/events/chain-events.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { progressOf } from '../domain/watch-progress.ts';
import { closed } from '../testing/awkward-readers.ts';
import { approvalWatch, Catching, mineSome, otherContract, transferWatch } from '../testing/catching.ts';
import { overriding } from '../testing/overriding.ts';

const others = ['wch_a', 'wch_b', 'wch_c', 'wch_d'].map((watchId) => ({ watchId, contractAddress: otherContract }));

/** Where a watch was registered, as its read model has it. */
const documentOf = async ({ store }: Catching, watchId: string) => {
  const [first] = await store.read(`watch-${watchId}`);
  if (!first) throw new Error(`${watchId} is not registered`);
  return { id: watchId, startBlock: Number(first.data['startBlock']), createdPosition: first.position };
};

/** A store that tells how many ranges were unfinished each time progress was stored. */
const counting = (store: EventStore) => {
  const unfinished: number[] = [];
  const append: EventStore['append'] = (stream, revision, events) => {
    for (const { type, data } of events) {
      if (type === 'ChainAdvanced') unfinished.push((data as ChainProgressEvent['data']).backfills.length);
    }
    return store.append(stream, revision, events);
  };
  return { store: overriding<EventStore>(store, { append }), unfinished };
};

describe('registrations, when as many ranges are unfinished as may be stored', () => {
  it('are taken in part, in their order, and the others as ranges are finished', async () => {
    const catching = new Catching({ rangesMax: 2 });
    mineSome(catching.chain, 40);
    for (const watch of others) await catching.register(watch);
    await catching.register();
    const { store, unfinished } = counting(catching.store);
    const { reader, open } = closed(catching.chain);
    catching.start({ store, reader });
    const second = await documentOf(catching, 'wch_b');
    await eventually(
      async () => (await catching.progress())?.watchesUpTo === second.createdPosition,
      15_000,
      'the first two must be taken, and no more',
    );
    mineSome(catching.chain, 3, 1_000);
    await eventually(
      async () => (await catching.progress())?.head === catching.chain.tip.number,
      15_000,
      'the head must be followed meanwhile',
    );
    const progress = await catching.progress();
    expect(progress?.backfills.map(({ watchId }) => watchId)).toEqual(['wch_a', 'wch_b']);
    expect(progress?.watchesUpTo).toBe(second.createdPosition);
    for (const { watchId } of [...others, transferWatch]) {
      expect(progressOf(await documentOf(catching, watchId), progress).state).toBe('backfilling');
    }
    open();
    await catching.expectChain();
    await catching.stop();
    expect(Math.max(...unfinished)).toBe(2);
    expect(catching.starts).toBe(1);
  });

  it('are neither lost nor taken twice, whenever the process dies', async () => {
    for (let appends = 1; appends < 25; appends += 1) {
      const catching = new Catching({ rangesMax: 1 });
      mineSome(catching.chain, 12);
      await catching.register({ startBlock: 6 });
      await catching.extend(2);
      await catching.register({ ...approvalWatch, startBlock: 3 });
      await catching.register({ watchId: 'wch_other', contractAddress: otherContract });
      await catching.runUntilKilled(appends);
      const { store, unfinished } = counting(catching.store);
      catching.start({ store });
      await catching.expectChain();
      await catching.stop();
      expect(Math.max(0, ...unfinished)).toBeLessThanOrEqual(1);
    }
  });

  it('do not hold up the stop', async () => {
    const catching = new Catching({ rangesMax: 1 });
    mineSome(catching.chain, 40);
    for (const watch of others) await catching.register(watch);
    catching.start({ reader: closed(catching.chain).reader });
    await eventually(async () => (await catching.progress())?.backfills.length === 1, 15_000, 'one must be taken');
    await catching.stop();
    catching.start();
    await catching.expectChain();
    await catching.stop();
  });

  it('are taken in their order again when a development chain begins anew', async () => {
    const catching = new Catching({ rangesMax: 2, isDevelopment: true });
    mineSome(catching.chain, 30);
    for (const watch of others) await catching.register(watch);
    await catching.register({ startBlock: 10 });
    await catching.extend(4);
    const { store, unfinished } = counting(catching.store);
    catching.start({ store });
    await catching.expectChain();
    catching.chain.takeBack(25);
    mineSome(catching.chain, 20, 900);
    await catching.expectChain();
    await catching.stop();
    expect(Math.max(...unfinished)).toBe(2);
  });
});

describe('a head that is far away', () => {
  it.each(['while it runs', 'between two starts'])(
    'is walked to %s, when more watches are live than ranges may be stored',
    async (when) => {
      const catching = new Catching({ rangesMax: 2 });
      mineSome(catching.chain, 30);
      for (const watch of others) await catching.register(watch);
      await catching.register();
      const { store, unfinished } = counting(catching.store);
      catching.start({ store });
      await catching.expectChain();
      if (when === 'between two starts') await catching.stop();
      mineSome(catching.chain, 1_300, 1_000);
      if (when === 'between two starts') catching.start({ store });
      await catching.expectChain();
      await catching.stop();
      expect(Math.max(...unfinished)).toBe(2);
      expect(new Set((await catching.changes()).map(({ data }) => data['Origin']))).toEqual(
        new Set(['backfill', 'live']),
      );
      expect(catching.starts).toBe(when === 'between two starts' ? 2 : 1);
    },
  );
});
