import { describe, expect, it } from '@jest/globals';
import { FinalizedContradicted, type ChainReader } from '../../../../shared/chain/chain-reader.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { overriding } from '../../testing/overriding.ts';
import { FollowerUnderTest, mineSome } from '../../testing/follower/follower-under-test.ts';

describe('a chain that gave up a final block', () => {
  const accept = async (follower: FollowerUnderTest, from?: { fromBlock: number }) => {
    const [final] = (await follower.progress())?.window ?? [];
    if (!final) throw new Error('nothing of the chain is stored');
    const { number, hash } = final;
    const { chainId } = follower.chain;
    const given = anEvent({ type: 'FinalBlockGivenUp', data: { chainId, number, hash, ...from } });
    const stream = `chain-${String(chainId)}-accepted`;
    await follower.store.append(stream, (await follower.store.read(stream)).length - 1, [given]);
  };
  /** A follower that has read forty blocks. */
  const following = async (): Promise<FollowerUnderTest> => {
    const follower = new FollowerUnderTest({ blocks: 40 });
    await follower.register();
    await follower.follow();
    return follower;
  };
  const paused = (follower: FollowerUnderTest) =>
    follower.until(
      () => follower.meter.chainError?.includes('annals chain accept --chain 2484'),
      'the status must name what helps',
    );

  it.each([
    ['while it is paused', 160],
    ['between two starts', 160],
    ['from a block on where no earlier final one is known', 0],
  ])(
    'goes on %s with what it says now once the operator accepts that, and what is gone is reverted',
    async (when, later) => {
      await using follower = new FollowerUnderTest();
      follower.verifiedEveryMs = 1;
      mineSome(follower.chain, 40);
      await follower.register();
      await follower.register({ watchId: 'wch_other', startBlock: 30 });
      await follower.follow();
      mineSome(follower.chain, later, 10_000);
      await follower.expectChain();
      await follower.verified();
      await follower.stop();
      const before = await follower.observed();
      follower.chain.rollBack(25);
      mineSome(follower.chain, 30, 900);
      follower.start();
      await paused(follower);
      expect(await follower.observed()).toEqual(before);
      if (when === 'between two starts') await follower.stop();
      await accept(follower);
      if (later === 0) {
        await paused(follower);
        expect(await follower.observed()).toEqual(before);
        await accept(follower, { fromBlock: 12 });
      }
      if (when === 'between two starts') follower.start();
      await follower.expectChain({ isOrdered: false });
      await follower.verified();
      const reverted = (await follower.changes()).filter(({ type }) => type === 'ChainEventReverted');
      const first = Math.min(...reverted.map(({ data }) => data.BlockNumber));
      expect(first).toBeGreaterThan(later === 0 ? 11 : 150);
      expect(first).toBeLessThanOrEqual(later + 40 - 25 + 2);
      mineSome(follower.chain, 5, 2_000);
      await follower.expectChain({ isOrdered: false });
      expect(follower.meter.chainError).toBeNull();
    },
  );

  it('stays paused where another block was accepted', async () => {
    await using follower = await following();
    await accept(follower);
    mineSome(follower.chain, 10, 700);
    await follower.expectChain();
    await follower.stop();
    const before = await follower.store.head();
    follower.chain.rollBack(30);
    mineSome(follower.chain, 40, 900);
    follower.start();
    await paused(follower);
    expect(await follower.store.head()).toBe(before);
  });

  it('that nothing stored takes for final goes on by itself', async () => {
    await using follower = await following();
    await follower.stop();
    let isForgotten = false;
    const contradicted = overriding<ChainReader>(follower.chain, {
      headAndFinalized: () =>
        isForgotten
          ? follower.chain.headAndFinalized()
          : Promise.reject(new FinalizedContradicted('the finalized block differs from the one before')),
      forgetFinalized: () => {
        isForgotten = true;
      },
    });
    mineSome(follower.chain, 5, 700);
    await follower.follow({ reader: contradicted });
    expect([isForgotten, follower.meter.chainError]).toEqual([true, null]);
  });
});
