import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ChainUnavailable, RangeTooLarge, type ChainReader } from '../../../../shared/chain/chain-reader.ts';
import { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { transferWatch } from '../../testing/example-watches.ts';
import { contract, FollowerUnderTest, mineSome, otherContract } from '../../testing/follower/follower-under-test.ts';
import { whileFollowing } from '../../testing/follower/while-following.ts';
import { overriding } from '../../testing/overriding.ts';

const BLOCKS_MAX = 20;
const { watchId } = transferWatch;

describe('a backfill from a provider that is far away', () => {
  let follower: FollowerUnderTest;
  let random: SeededRandom;
  let inFlight: number;
  let mostInFlight: number;
  let answered: [number, number][];
  let answersAfter: (from: number, to: number) => Promise<void>;
  /** How many more requests fail. */
  let failures: number;
  beforeEach(() => {
    follower = new FollowerUnderTest();
    random = new SeededRandom(7);
    [inFlight, mostInFlight, answered, failures] = [0, 0, [], 0];
    answersAfter = async () => {
      const latency = Promise.withResolvers<undefined>();
      setTimeout(latency.resolve, random.between(1, 8), undefined);
      await latency.promise;
    };
  });
  afterEach(() => follower.stop());

  /** Answers after some milliseconds, in any order, with a limit on the number of blocks. */
  const farAway = (blocksMax = () => BLOCKS_MAX): ChainReader =>
    overriding<ChainReader>(follower.chain, {
      logsOfRange: async (from, to, filter) => {
        inFlight += 1;
        mostInFlight = Math.max(mostInFlight, inFlight);
        await answersAfter(from, to);
        inFlight -= 1;
        if (failures > 0 && random.chance(0.2)) {
          failures -= 1;
          throw new ChainUnavailable('down');
        }
        const most = blocksMax();
        if (to - from >= most) throw new RangeTooLarge('too many blocks', { blocks: most });
        answered.push([from, to]);
        return follower.chain.logsOfRange(from, to, filter);
      },
    });
  const areReadOnce = () => {
    const inOrder = answered.toSorted(([left], [right]) => left - right);
    return inOrder.every(([from], at) => from === (inOrder[at - 1]?.[1] ?? -1) + 1);
  };

  it('has four requests in flight at most, and stores their records in the order of their blocks', () =>
    whileFollowing(follower, async () => {
      mineSome(follower.chain, 600);
      await follower.register();
      let four = Promise.withResolvers<undefined>();
      answersAfter = async (from, to) => {
        if (from <= 100 || to - from >= BLOCKS_MAX) return;
        if (inFlight < 4 && from < 400) await four.promise;
        four.resolve(undefined);
        four = Promise.withResolvers();
      };
      await follower.follow({ reader: farAway() });
      expect(mostInFlight).toBe(4);
      expect(areReadOnce()).toBe(true);
      expect(follower.starts).toBe(1);
    }));

  it('loses nothing when requests fail, nor when it is stopped', () =>
    whileFollowing(follower, async () => {
      mineSome(follower.chain, 600);
      await follower.register();
      await follower.register({ watchId: 'wch_other', contractAddress: otherContract, startBlock: 300 });
      for (let appends = 3; appends < 15; appends += 4) {
        failures = 2;
        await follower.runUntilKilled(appends, false, farAway());
      }
      failures = 2;
      await follower.follow({ reader: farAway() });
    }));

  it('stops at its bound of blocks, and at that of records', () =>
    whileFollowing(follower, async () => {
      mineSome(follower.chain, 600, 0, [contract, otherContract]);
      follower.most = { blocks: 270, records: 100 };
      await follower.register({ startBlock: 5, headBlock: 600 });
      await follower.register({
        watchId: 'wch_other',
        contractAddress: otherContract,
        startBlock: 400,
        headBlock: 600,
      });
      await follower.extend(390, 'wch_other');
      const reader = farAway();
      follower.start({ reader });
      for (const id of [watchId, 'wch_other']) await follower.pausedByItself(id);
      await follower.caughtUp();
      const observed = [await follower.observed(contract), await follower.observed(otherContract)];
      for (const { length } of observed) {
        expect(length).toBeGreaterThanOrEqual(100);
        expect(length).toBeLessThan(100 + 2 * BLOCKS_MAX);
      }
      await follower.stop();
      follower.most = { blocks: 270, records: 1_000 };
      await follower.readAgain(watchId);
      follower.start({ reader });
      await follower.pausedByItself(watchId);
      await follower.caughtUp();
      const blocks = (await follower.observed(contract)).map((record) => Number(record.split(' ')[1]));
      expect(Math.max(...blocks)).toBeLessThan(5 + 270);
      expect(Math.max(...blocks)).toBeGreaterThanOrEqual(5 + 270 - 3);
      for (const id of [watchId, 'wch_other']) await follower.readAgain(id, true);
      await follower.expectChain({ isOrdered: false });
    }));
});
