import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RangeTooLarge, type ChainReader } from '../../../../shared/chain/chain-reader.ts';
import { approvalWatch, transferWatch } from '../../testing/example-watches.ts';
import { contract, FollowerUnderTest, mineSome, otherContract } from '../../testing/follower/follower-under-test.ts';
import { whileFollowing } from '../../testing/follower/while-following.ts';
import { overriding } from '../../testing/overriding.ts';

const elsewhere = { watchId: 'wch_elsewhere', contractAddress: otherContract };
const both = [contract, otherContract];

describe('a watch that is stopped', () => {
  let follower: FollowerUnderTest;
  beforeEach(() => {
    follower = new FollowerUnderTest();
  });
  afterEach(() => follower.stop());

  /** The blocks of a contract's stored records. */
  const blocks = async (of = contract) => (await follower.changes(of)).map(({ data }) => data.BlockNumber);
  const mine = (count: number) => {
    mineSome(follower.chain, count, follower.chain.tip.number * 100, both);
  };

  it.each(['pause', 'remove'] as const)(
    'after %s reads nothing, while others go on, and then goes on where it stopped',
    async (how) => {
      mine(20);
      await follower.register();
      await follower.register(elsewhere);
      await follower.follow();
      await follower.stopWatch(transferWatch.watchId, how);
      await follower.caughtUp();
      const stoppedAt = follower.chain.tip.number;
      mine(20);
      await follower.caughtUp();
      await follower.until(
        async () => (await follower.observed(otherContract)).length === follower.recordsOnChain(otherContract).length,
        'the other one must go on',
      );
      expect(Math.max(...(await blocks()))).toBeLessThanOrEqual(stoppedAt);
      await follower.readAgain();
      await follower.expectChain();
      expect(follower.starts).toBe(1);
      expect(new Set((await blocks()).filter((block) => block > stoppedAt)).size).toBeGreaterThan(5);
    },
  );

  it('is not asked for any more, also when its backfill was under way', () =>
    whileFollowing(follower, async () => {
      mine(60);
      const { promise, resolve } = Promise.withResolvers<undefined>();
      const asked: number[] = [];
      const reader = overriding<ChainReader>(follower.chain, {
        logsOfRange: async (from, to, filter) => {
          asked.push(from);
          if (asked.length > 1) await promise;
          if (to > from + 9) throw new RangeTooLarge('at most 10 blocks', { blocks: 10 });
          return follower.chain.logsOfRange(from, to, filter);
        },
      });
      await follower.register();
      follower.start({ reader });
      await follower.until(() => asked.length > 0, 'its backfill must begin');
      await follower.stopWatch();
      resolve(undefined);
      await follower.caughtUp();
      const before = asked.length;
      mine(10);
      await follower.caughtUp();
      expect(asked).toHaveLength(before);
      await follower.readAgain();
      await follower.expectChain();
    }));

  it('takes no room from watches that are to be read', async () => {
    follower = new FollowerUnderTest({ rangesMax: 1 });
    mine(20);
    await follower.register();
    await follower.stopWatch();
    await follower.register(approvalWatch);
    await follower.stopWatch(approvalWatch.watchId, 'remove');
    await follower.register(elsewhere);
    follower.start();
    await follower.caughtUp();
    expect(await follower.joining()).toEqual([transferWatch.watchId, approvalWatch.watchId]);
    expect(await follower.observed(otherContract)).toEqual(follower.recordsOnChain(otherContract));
    await follower.readAgain();
    await follower.readAgain(approvalWatch.watchId);
    await follower.expectChain();
  });

  it('has the blocks that replace those that it has read', async () => {
    mine(20);
    await follower.register();
    await follower.follow();
    await follower.stopWatch();
    await follower.caughtUp();
    follower.chain.rollBack(4);
    mineSome(follower.chain, 8, 77_000, both);
    await follower.caughtUp();
    expect(Math.max(...(await blocks()))).toBeLessThanOrEqual(20);
    await follower.readAgain();
    await follower.expectChain();
  });

  it('does not keep progress from being stored, whenever the process dies before it', async () => {
    for (let appends = 1; appends < 9; appends += 1) {
      follower = new FollowerUnderTest();
      await whileFollowing(follower, async () => {
        mine(30);
        await follower.register({ startBlock: 2 });
        await follower.runUntilKilled(appends);
        await follower.stopWatch(transferWatch.watchId, appends % 2 === 0 ? 'pause' : 'remove');
        await follower.register(elsewhere);
        mine(3);
        follower.start();
        await follower.caughtUp();
        await follower.readAgain();
        await follower.expectChain();
      });
    }
  });
});
