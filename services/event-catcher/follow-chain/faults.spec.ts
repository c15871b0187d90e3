import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { ChainUnavailable, type ChainReader } from '../../../shared/chain/chain-reader.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { gated, canonicalOnly, interrupted } from '../testing/faulty-readers.ts';
import { withoutProgress } from '../testing/faulty-stores.ts';
import {
  approval,
  approvalWatch,
  FollowerUnderTest,
  mineSome,
  otherContract,
  transfer,
} from '../testing/follower-under-test.ts';
import { overriding } from '../testing/overriding.ts';

/** Twenty blocks caught; then what is mined, killed between storing their records and the progress that speaks of them. */
const killedBeforeProgress = async (mine: (follower: FollowerUnderTest) => void): Promise<FollowerUnderTest> => {
  const follower = new FollowerUnderTest();
  for (let block = 1; block <= 20; block += 1) follower.chain.mine([transfer(block)]);
  await follower.register();
  follower.start();
  await follower.expectChain();
  await follower.stop();
  mine(follower);
  follower.start({ store: withoutProgress(follower.store) });
  const expected = follower.idsOnChain().length;
  await eventually(
    async () => (await follower.observed()).length === expected,
    15_000,
    'the new records must be stored',
  );
  await follower.stop();
  return follower;
};

describe('a follower that was killed before it stored how far it came', () => {
  it('reverts what was reorganised away, though it was away for long', async () => {
    const follower = await killedBeforeProgress(({ chain }) => chain.mine([transfer(101)]));
    follower.chain.rollBack(1);
    for (let block = 0; block < 600; block += 1)
      follower.chain.mine(block % 100 === 0 ? [transfer(1_000 + block)] : []);
    follower.start();
    await follower.expectChain();
    await follower.stop();
  });

  it('reverts what was reorganised away by a branch that is shorter, and stores how far it has come', async () => {
    const follower = await killedBeforeProgress(({ chain }) => {
      chain.mine([]);
      chain.mine([]);
      chain.mine([transfer(101)]);
    });
    follower.chain.rollBack(3);
    follower.chain.mine([transfer(55)]);
    follower.start();
    await follower.expectChain();
    await follower.stop();
  });

  it.each([
    ['near', 2],
    ['far', 505],
  ])('reverts what is reorganised away while it looks for its place, %s behind', async (_how, blocks) => {
    for (let calls = 1; calls <= 7; calls += 1) {
      const follower = await killedBeforeProgress(({ chain }) => {
        for (let left = blocks; left > 0; left -= 1) chain.mine(left <= 2 ? [transfer(left)] : []);
      });
      follower.chain.mine([]);
      const reorganise = () => {
        follower.chain.rollBack(3);
        for (let block = 0; block < 4; block += 1) follower.chain.mine([transfer(300 + block)]);
        return Promise.resolve();
      };
      follower.start({ reader: interrupted(follower.chain, calls, reorganise) });
      await eventually(
        () => follower.chain.logs.at(-1)?.data.endsWith((303).toString(16)),
        15_000,
        'it must ask so often',
      );
      await follower.expectChain();
      await follower.stop();
    }
  });

  it('reverts what is reorganised away before the head, which lags, comes to it', async () => {
    const follower = await killedBeforeProgress(({ chain }) => {
      chain.mine([transfer(101)]);
      chain.mine([transfer(102)]);
    });
    const { chain } = follower;
    const [lagging] = await chain.headersByNumber([21]);
    let asked = 0;
    const head = () => {
      asked += 1;
      return lagging && chain.logs.at(-1)?.data.endsWith('66') ? Promise.resolve(lagging) : chain.head();
    };
    follower.start({ reader: overriding<ChainReader>(chain, { head }) });
    await eventually(() => asked > 2, 15_000, 'it must follow the head that lags');
    chain.rollBack(1);
    chain.mine([transfer(103)]);
    await follower.expectChain();
    await follower.stop();
  });

  it('knows what was stored of a watch that the stored progress does not know', async () => {
    const follower = new FollowerUnderTest();
    for (let block = 1; block <= 20; block += 1) follower.chain.mine([approval(block)]);
    const pruned = overriding<ChainReader>(follower.chain, {
      logsOfRange: (from, to, filter) =>
        filter.addresses.includes(otherContract)
          ? Promise.reject(new ChainUnavailable('history pruned'))
          : follower.chain.logsOfRange(from, to, filter),
    });
    await follower.register({ watchId: 'wch_other', contractAddress: otherContract });
    follower.chain.mine([{ ...transfer(1), address: otherContract }]);
    mineSome(follower.chain, 10);
    // Stores the range of the first watch, and dies: no progress is stored until that range is read again.
    await follower.runUntilKilled(3, true);
    await follower.register(approvalWatch);
    const wanted = follower.idsOnChain().length;
    follower.start({ reader: pruned });
    await eventually(
      async () => (await follower.observed()).length === wanted,
      15_000,
      'the second watch must be read',
    );
    await follower.stop();
    follower.chain.rollBack(4);
    follower.chain.mine([]);
    follower.start();
    await follower.expectChain();
    await follower.stop();
  });

  it('extends a watch to blocks that it has stored already', async () => {
    const follower = new FollowerUnderTest();
    for (let block = 1; block <= 20; block += 1) follower.chain.mine([transfer(block)]);
    await follower.register({ startBlock: 19 });
    follower.start();
    await follower.expectChain();
    await follower.stop();
    const before = (await follower.observed()).length;
    await follower.extend(10);
    // Stores what the extension has in blocks that are not final, and dies before the progress.
    await follower.runUntilKilled(2, true);
    expect((await follower.observed()).length).toBeGreaterThan(before);
    follower.start();
    await follower.expectChain();
    await follower.stop();
  });

  it('stores how far it has come, when a block that was reverted and observed again is of the chain', async () => {
    const follower = await killedBeforeProgress(({ chain }) => chain.mine([transfer(101)]));
    follower.start();
    await follower.expectChain();
    await follower.stop();
    const store = withoutProgress(follower.store);
    const reached = async (changes: number) => {
      follower.start({ store });
      await eventually(async () => (await follower.changes()).length === changes, 15_000, 'it must come so far');
      await follower.stop();
    };
    const giveBack = follower.chain.rollBack(1);
    follower.chain.mine([transfer(102)]);
    await reached(23);
    giveBack();
    await reached(25);
    follower.chain.mine([]);
    follower.start();
    await follower.expectChain();
    await follower.stop();
  });
});

describe('a watch that is extended before it is live', () => {
  it.each([
    ['nothing of it is read', 30, 20, 5],
    ['and whose first start was not final', 30, 28, 5],
    ['by blocks that are not final', 30, 29, 27],
  ])('when %s', async (_when, blocks, startBlock, extendedTo) => {
    const follower = new FollowerUnderTest();
    for (let block = 1; block <= blocks; block += 1) follower.chain.mine([transfer(block)]);
    await follower.register({ startBlock });
    await follower.extend(extendedTo);
    follower.start();
    await follower.expectChain();
    await follower.stop();
  });

  it('while its first blocks are asked for, which then are stored once, behind those before them', async () => {
    const follower = new FollowerUnderTest();
    for (let block = 1; block <= 300; block += 1) follower.chain.mine([transfer(block)]);
    await follower.register({ startBlock: 100 });
    const asked: number[] = [];
    const { reader, open } = gated(follower.chain);
    const logsOfRange: ChainReader['logsOfRange'] = (from, ...rest) => {
      asked.push(from);
      return reader.logsOfRange(from, ...rest);
    };
    follower.start({ reader: overriding(reader, { logsOfRange }) });
    await eventually(() => asked.length === 1, 15_000, 'the first blocks must be asked for');
    await follower.extend(5);
    await eventually(
      async () => (await follower.progress())?.backfills[0]?.next === 5,
      15_000,
      'the extension must be taken',
    );
    open();
    await follower.expectChain();
    await follower.stop();
    expect(await follower.observed()).toEqual(follower.idsOnChain());
    // What was left behind led nowhere.
    expect(asked.slice(0, 2)).toEqual([100, 5]);
    expect(follower.starts).toBe(1);
  });

  it('reads no block as a range that may be reorganised', async () => {
    const follower = new FollowerUnderTest({ confirmations: 64 });
    for (let block = 1; block <= 30; block += 1) follower.chain.mine([transfer(block)]);
    await follower.register({ startBlock: 20 });
    await follower.extend(5);
    follower.start();
    await follower.expectChain();
    await follower.stop();
    expect(follower.chain.calls).not.toContain('logsOfRange');
  });
});

describe('a provider', () => {
  it('that forgets orphans does not hold up a watch whose blocks were reorganised before it joined', async () => {
    const follower = new FollowerUnderTest({ confirmations: 64 });
    for (let block = 1; block <= 20; block += 1) follower.chain.mine([transfer(block)]);
    await follower.register({ startBlock: 1 });
    const slow = overriding(canonicalOnly(follower.chain), {
      head: async () => {
        await pause(5);
        return follower.chain.head();
      },
    });
    const down = () => Promise.reject(new ChainUnavailable('down'));
    const loop = follower.start({ reader: overriding(slow, { logsOfBlock: down }) });
    await eventually(() => loop.lastError === 'down', 15_000, 'the first start must fail');
    await follower.stop();
    follower.chain.rollBack(3);
    for (let block = 0; block < 5; block += 1) follower.chain.mine([transfer(500 + block)]);
    follower.start({ reader: slow });
    await follower.expectChain();
    await follower.stop();
  });

  it('that lacks the history of some watches does not hold up another', async () => {
    const follower = new FollowerUnderTest();
    mineSome(follower.chain, 40);
    for (let index = 0; index < 4; index += 1) {
      await follower.register({ watchId: `wch_${String(index)}`, contractAddress: otherContract });
    }
    await follower.register();
    const pruned = overriding<ChainReader>(follower.chain, {
      logsOfRange: (from, to, filter) =>
        filter.addresses.includes(otherContract)
          ? Promise.reject(new ChainUnavailable('history pruned'))
          : follower.chain.logsOfRange(from, to, filter),
    });
    follower.start({ reader: pruned });
    const expected = follower.idsOnChain().length;
    await eventually(
      async () => (await follower.observed()).length === expected,
      15_000,
      'the fifth watch must be read',
    );
    await follower.stop();
  });

  it.each(['head', 'headersByNumber', 'logsOfRange', 'logsOfBlock'] as const)(
    'whose %s never answers does not hold up the stop',
    async (method) => {
      const follower = new FollowerUnderTest();
      mineSome(follower.chain, 40);
      await follower.register();
      await follower.register(approvalWatch);
      const { promise: asked, resolve } = Promise.withResolvers<string>();
      const hanging = overriding<ChainReader>(follower.chain, {
        [method]: () => {
          resolve(method);
          return Promise.withResolvers<never>().promise;
        },
      });
      follower.start({ reader: hanging });
      await asked;
      const stoppedAt = performance.now();
      await follower.stop();
      expect(performance.now() - stoppedAt).toBeLessThan(1_000);
    },
  );
});

describe('the first range', () => {
  it('is small, and those after it grow where there is little', async () => {
    const follower = new FollowerUnderTest();
    for (let block = 0; block < 3_000; block += 1) follower.chain.mine([]);
    await follower.register();
    const sizes: number[] = [];
    const reader = overriding<ChainReader>(follower.chain, {
      logsOfRange: (from, to, filter) => {
        sizes.push(to - from + 1);
        return follower.chain.logsOfRange(from, to, filter);
      },
    });
    follower.start({ reader });
    await follower.expectChain();
    await follower.stop();
    expect(sizes[0]).toBe(50);
    expect(sizes.length).toBeLessThan(6);
  });
});
