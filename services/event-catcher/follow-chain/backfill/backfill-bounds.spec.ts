import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ChainUnavailable, type ChainReader } from '../../../../shared/chain/chain-reader.ts';
import { MemoryEventStore } from '../../../../shared/testing/engines/event-store.memory.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import { MemoryReadStore } from '../../../../shared/testing/engines/read-store.memory.ts';
import type { Range } from '../../domain/backfill/coverage.ts';
import { transferWatch, watched } from '../../testing/example-watches.ts';
import { contract, FollowerUnderTest, mineSome, otherContract } from '../../testing/follower/follower-under-test.ts';
import { whileFollowing } from '../../testing/follower/while-following.ts';
import { takingAtMost } from '../../testing/follower/faulty-readers.ts';
import { overriding } from '../../testing/overriding.ts';
import { BackfillBounds } from './backfill-bounds.ts';

const { watchId } = transferWatch;
const elsewhere = { watchId: 'wch_elsewhere', contractAddress: otherContract };

describe('a backfill with bounds', () => {
  let follower: FollowerUnderTest;
  beforeEach(() => {
    follower = new FollowerUnderTest();
    mineSome(follower.chain, 60, 0, [contract, otherContract]);
  });
  afterEach(() => follower.stop());

  const pausedFor = async () => {
    const [newest] = await follower.store.read(`watch-${watchId}`, { direction: 'backwards', limit: 1 });
    return newest?.type === 'WatchPaused' ? newest.data['reason'] : undefined;
  };
  const nextBlock = async () => {
    const deferred = (await follower.deferred()).get(watchId);
    return deferred?.find(({ joins }) => joins)?.next;
  };

  it('stops at the bound of blocks, however often it is started, and goes on when the operator resumes it', async () => {
    follower.most = { blocks: 20, records: Infinity };
    await follower.register({ startBlock: 5, headBlock: 60 });
    await follower.register({ ...elsewhere, startBlock: 50, headBlock: 60 });
    follower.start();
    await follower.pausedByItself(watchId);
    await follower.caughtUp();
    expect([await pausedFor(), await nextBlock()]).toEqual(['blocks', 25]);
    expect(await follower.observed(otherContract)).toEqual(follower.recordsOnChain(otherContract));
    await follower.stop();
    mineSome(follower.chain, 5, 9_000, [contract, otherContract]);
    follower.start();
    await follower.caughtUp();
    expect(await nextBlock()).toBe(25);
    await follower.readAgain(watchId, true);
    await follower.expectChain();
  });

  const since = (block: number) => follower.recordsOnChain().filter((record) => Number(record.split(' ')[1]) >= block);
  const isObserved = (records: readonly string[]) => async () => {
    const observed = await follower.observed();
    return records.every((record) => observed.includes(record));
  };
  const isTold = (what: string) => () =>
    follower.meter.warningOf(watchId)?.includes(`as many ${what} as one may have`) ?? false;

  it.each(['blocks', 'records'])('stops an extension that meets the bound of %s, and not the watch', async (what) => {
    await follower.register({ startBlock: 50, headBlock: 60 });
    const own = follower.recordsOnChain().length;
    follower.most = what === 'blocks' ? { blocks: 12, records: Infinity } : { blocks: 100, records: own + 1 };
    await follower.follow({ reader: takingAtMost(follower.chain, 4) });
    await follower.extend(10);
    await follower.until(isTold(what), 'the extension must meet its bound');
    expect([await pausedFor(), follower.meter.errorOf(watchId)]).toEqual([undefined, null]);
    mineSome(follower.chain, 3, 9_000);
    expect(since(61).length).toBeGreaterThan(0);
    await follower.until(isObserved(since(61)), 'what comes must be observed');
    await follower.readAgain(watchId, true);
    await follower.expectChain({ isOrdered: false });
    expect(follower.meter.warningOf(watchId)).toBeNull();
  });

  it('is not stopped by an extension, which is read once its watch is live', () =>
    whileFollowing(follower, async () => {
      follower.most = { blocks: 30, records: Infinity };
      await follower.register({ startBlock: 31, headBlock: 60 });
      let isDown = true;
      const asked: number[] = [];
      const limited = takingAtMost(follower.chain, 4);
      const reader = overriding<ChainReader>(limited, {
        logsOfRange: (from, to, filter) => {
          asked.push(from);
          return from > 31 && isDown
            ? Promise.reject(new ChainUnavailable('down'))
            : limited.logsOfRange(from, to, filter);
        },
      });
      follower.start({ reader });
      await follower.until(() => follower.meter.errorOf(watchId) !== null, 'the backfill must have begun');
      await follower.extend(0);
      const failed = asked.length;
      await follower.until(() => asked.length > failed + 2, 'the backfill must be tried again');
      isDown = false;
      await follower.until(isTold('blocks'), 'the extension must meet its bound');
      expect([await pausedFor(), Math.min(...asked)]).toEqual([undefined, 31]);
      expect(await follower.observed()).toEqual(since(31));
    }));

  it('stops at the bound of records', async () => {
    follower.most = { blocks: 1_000, records: 3 };
    await follower.register({ startBlock: 0, headBlock: 60 });
    follower.start({ reader: takingAtMost(follower.chain, 10) });
    await follower.pausedByItself(watchId);
    await follower.caughtUp();
    expect(await pausedFor()).toBe('records');
    expect(await nextBlock()).toBeLessThan(20);
  });

  it('has none for blocks that came since, nor when the head at the registration is not known', async () => {
    follower.most = { blocks: 12, records: 1_000 };
    await follower.register({ startBlock: 55, headBlock: 60 });
    const { headBlock: _headBlock, ...old } = transferWatch;
    await follower.registerExactly({ ...old, ...elsewhere, startBlock: 0 });
    await follower.follow();
    await follower.stop();
    mineSome(follower.chain, 700, 9_000);
    await follower.follow();
    expect(await pausedFor()).toBeUndefined();
  });
});

describe('the blocks that a backfill may have yet', () => {
  const bounds = new BackfillBounds(
    { eventStore: new MemoryEventStore(), clock: systemClock, ids: systemIds },
    new MemoryReadStore(),
    { blocks: 50, records: 50 },
  );
  const watch = watched({ ...transferWatch, startBlock: 10, headBlock: 99 });
  const joining = (next: number): Range => ({ watchId, from: 10, next, to: 90, joins: true });

  const reading = (...backfills: Range[]) => ({ backfills, deferred: new Map<string, Range[]>(), watchesUpTo: 0 });

  it('are counted by what is not read yet', () => {
    expect(bounds.blocksLeft(watch, joining(10), reading(joining(10)))).toBe(50);
    expect(bounds.blocksLeft(watch, joining(60), reading(joining(60)))).toBe(0);
    const extension: Range = { watchId, from: 0, next: 4, to: 9, joins: false };
    const extended = { ...watch, startBlock: 0 };
    expect(bounds.blocksLeft(extended, extension, reading(joining(30), extension))).toBe(50 - 20 - 4);
    const deferred = new Map([[watchId, [extension]]]);
    expect(bounds.blocksLeft(extended, joining(30), { ...reading(joining(30)), deferred })).toBe(50 - 20 - 4);
    expect(bounds.blocksLeft(watch, joining(100), reading(joining(100)))).toBe(Infinity);
    expect(bounds.blocksLeft({ ...watch, isUnbounded: true }, joining(10), reading(joining(10)))).toBe(Infinity);
  });
});
