import { describe, expect, it } from '@jest/globals';
import { ChainUnavailable, type ChainReader } from '../../../shared/chain/chain-reader.ts';
import { gated, except, canonicalOnly, interrupted, withHead } from '../testing/follower/faulty-readers.ts';
import { withoutProgress } from '../testing/follower/faulty-stores.ts';
import { approvalWatch } from '../testing/example-watches.ts';
import {
  approval,
  FollowerUnderTest,
  mineSome,
  otherContract,
  transfer,
} from '../testing/follower/follower-under-test.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import { overriding } from '../testing/overriding.ts';
import { inSimulatedTime } from '../../../shared/testing/simulation/simulated-globals.ts';

/**
 * A follower of twenty blocks, which is killed after it stored the records of further blocks, and before their
 * progress.
 */
const killedBeforeProgress = async (mine: (follower: FollowerUnderTest) => void): Promise<FollowerUnderTest> => {
  const follower = new FollowerUnderTest();
  for (let block = 1; block <= 20; block += 1) follower.chain.mine([transfer(block)]);
  await follower.register();
  await follower.follow();
  await follower.stop();
  mine(follower);
  follower.start({ store: withoutProgress(follower.store) });
  const expected = follower.recordsOnChain().length;
  await follower.until(async () => (await follower.observed()).length === expected, 'the new records must be stored');
  await follower.stop();
  return follower;
};

describe('a follower that was killed before it stored its progress', () => {
  it('reverts what was reorganised away during a long stop', async () => {
    await using follower = await killedBeforeProgress(({ chain }) => chain.mine([transfer(101)]));
    follower.chain.rollBack(1);
    for (let block = 0; block < 600; block += 1)
      follower.chain.mine(block % 100 === 0 ? [transfer(1_000 + block)] : []);
    await follower.follow();
  });

  it('reverts what was reorganised away by a shorter branch, and stores its progress', async () => {
    await using follower = await killedBeforeProgress(({ chain }) => {
      chain.mine([]);
      chain.mine([]);
      chain.mine([transfer(101)]);
    });
    follower.chain.rollBack(3);
    follower.chain.mine([transfer(55)]);
    await follower.follow();
  });

  it.each([
    ['near', 2],
    ['far behind', 505],
  ])('reverts what is reorganised away while it starts again %s the head', async (_how, blocks) => {
    for (let calls = 1; calls <= 7; calls += 1) {
      await using follower = await killedBeforeProgress(({ chain }) => {
        for (let left = blocks; left > 0; left -= 1) chain.mine(left <= 2 ? [transfer(left)] : []);
      });
      follower.chain.mine([]);
      const reorganise = () => {
        follower.chain.rollBack(3);
        for (let block = 0; block < 4; block += 1) follower.chain.mine([transfer(300 + block)]);
        return Promise.resolve();
      };
      follower.start({ reader: interrupted(follower.chain, calls, reorganise) });
      await follower.until(
        () => follower.chain.logs.at(-1)?.data.endsWith((303).toString(16)),
        'it must make that many calls',
      );
      await follower.expectChain();
    }
  });

  it('observes again what it reverted for a branch that nobody has, though its block is denied at the start', async () => {
    await using follower = new FollowerUnderTest();
    for (let block = 1; block <= 20; block += 1) follower.chain.mine([transfer(block)]);
    await follower.register();
    await follower.follow();
    await follower.stop();
    const { chain } = follower;
    const misnamed = { ...(await chain.head()), hash: `0x${'ab'.repeat(32)}` };
    const reader = overriding<ChainReader>(
      withHead(chain, () => Promise.resolve(misnamed)),
      {
        logsOfBlock: () => Promise.reject(new ChainUnavailable('unknown block')),
      },
    );
    follower.start({ reader });
    await follower.until(async () => (await follower.observed()).length === 19, 'it must revert the newest block');
    await follower.stop();
    chain.mine([transfer(21)]);
    await follower.follow({
      reader: overriding<ChainReader>(chain, {
        headersByNumber: async (numbers) =>
          (await chain.headersByNumber(numbers)).map((header) => (header?.number === 20 ? undefined : header)),
      }),
    });
  });

  it('reverts what is reorganised away while the head of the provider lags', async () => {
    await using follower = await killedBeforeProgress(({ chain }) => {
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
    follower.start({ reader: withHead(chain, head) });
    await follower.until(() => asked > 2, 'it must follow the head that lags');
    chain.rollBack(1);
    chain.mine([transfer(103)]);
    await follower.expectChain();
  });

  it('recognises the records of a watch that the stored progress does not contain', async () => {
    await using follower = new FollowerUnderTest();
    for (let block = 1; block <= 20; block += 1) follower.chain.mine([approval(block)]);
    const pruned = except(follower.chain, () => [otherContract]);
    await follower.register({ watchId: 'wch_other', contractAddress: otherContract });
    follower.chain.mine([{ ...transfer(1), address: otherContract }]);
    mineSome(follower.chain, 10);
    // It stores the range of the first watch and dies. No progress is stored until that range is read again.
    await follower.runUntilKilled(3, true);
    await follower.register(approvalWatch);
    const wanted = follower.recordsOnChain().length;
    follower.start({ reader: pruned });
    await follower.until(async () => (await follower.observed()).length === wanted, 'the second watch must be read');
    await follower.stop();
    follower.chain.rollBack(4);
    follower.chain.mine([]);
    await follower.follow();
  });

  it('extends a watch to blocks whose records it has stored already', async () => {
    await using follower = new FollowerUnderTest();
    for (let block = 1; block <= 20; block += 1) follower.chain.mine([transfer(block)]);
    await follower.register({ startBlock: 19 });
    await follower.follow();
    await follower.stop();
    await follower.extend(10);
    // It stores records of the extension, at last those in blocks that are not final, and dies before the progress.
    await follower.runUntilKilled(4, true);
    expect((await follower.observed()).length).toBe(11);
    await follower.follow();
  });

  it('stores its progress after a block was reverted and observed again', async () => {
    await using follower = await killedBeforeProgress(({ chain }) => chain.mine([transfer(101)]));
    await follower.follow();
    await follower.stop();
    const store = withoutProgress(follower.store);
    const reached = async (changes: number) => {
      follower.start({ store });
      await follower.until(async () => (await follower.changes()).length === changes, 'it must store that many events');
      await follower.stop();
    };
    const restore = follower.chain.rollBack(1);
    follower.chain.mine([transfer(102)]);
    await reached(23);
    restore();
    await reached(25);
    follower.chain.mine([]);
    await follower.follow();
  });
});

describe('a watch that is extended before it is live,', () => {
  it.each([
    ['when nothing of it was read', 30, 20, 5],
    ['when its first start block was not final', 30, 28, 5],
    ['by blocks that are not final', 30, 29, 27],
  ])('%s, is read completely', async (_when, blocks, startBlock, extendedTo) => {
    await using follower = new FollowerUnderTest();
    for (let block = 1; block <= blocks; block += 1) follower.chain.mine([transfer(block)]);
    await follower.register({ startBlock });
    await follower.extend(extendedTo);
    await follower.follow();
  });

  it('while its first blocks are requested, has each record stored once and in chain order', async () => {
    await using follower = new FollowerUnderTest();
    for (let block = 1; block <= 300; block += 1) follower.chain.mine([transfer(block)]);
    await follower.register({ startBlock: 100 });
    const asked: number[] = [];
    const { reader, open } = gated(follower.chain);
    const logsOfRange: ChainReader['logsOfRange'] = (from, ...rest) => {
      asked.push(from);
      return reader.logsOfRange(from, ...rest);
    };
    follower.start({ reader: overriding(reader, { logsOfRange }) });
    await follower.until(() => asked.length === 1, 'the first blocks must be requested');
    await follower.extend(5);
    await follower.until(
      async () => (await follower.progress())?.backfills[0]?.next === 5,
      'the extension must be added',
    );
    open();
    await follower.expectChain();
    await follower.stop();
    expect(await follower.observed()).toEqual(follower.recordsOnChain());
    // The first request was dropped, and the range was read from its new start.
    expect(asked.slice(0, 2)).toEqual([100, 5]);
    expect(follower.starts).toBe(1);
  });

  it('is not read as a range where blocks may be reorganised', async () => {
    await using follower = new FollowerUnderTest({ confirmations: 64 });
    for (let block = 1; block <= 30; block += 1) follower.chain.mine([transfer(block)]);
    await follower.register({ startBlock: 20 });
    await follower.extend(5);
    await follower.follow();
    await follower.stop();
    expect(follower.chain.calls).not.toContain('logsOfRange');
  });
});

it('the first request for a range is small, and later ones grow where there are few events', async () => {
  await using follower = new FollowerUnderTest();
  for (let block = 0; block < 3_000; block += 1) follower.chain.mine([]);
  await follower.register();
  const sizes: number[] = [];
  const reader = overriding<ChainReader>(follower.chain, {
    logsOfRange: (from, to, filter) => {
      sizes.push(to - from + 1);
      return follower.chain.logsOfRange(from, to, filter);
    },
  });
  await follower.follow({ reader });
  await follower.stop();
  expect(sizes[0]).toBe(50);
  expect(sizes.length).toBeLessThan(6);
});

describe('a provider', () => {
  it('that drops orphaned blocks does not stop a watch whose blocks were reorganised before it joined', () =>
    inSimulatedTime(async () => {
      await using follower = new FollowerUnderTest({ confirmations: 64 });
      for (let block = 1; block <= 20; block += 1) follower.chain.mine([transfer(block)]);
      await follower.register({ startBlock: 1 });
      const slow = overriding(canonicalOnly(follower.chain), {
        head: async () => {
          await pause(5);
          return follower.chain.head();
        },
      });
      let asked = 0;
      const logsOfBlock = () => {
        asked += 1;
        return Promise.reject(new ChainUnavailable('down'));
      };
      follower.start({ reader: overriding(slow, { logsOfBlock }) });
      await follower.until(() => asked > 20, 'it must fail to join, and try again');
      await follower.stop();
      follower.chain.rollBack(3);
      for (let block = 0; block < 5; block += 1) follower.chain.mine([transfer(500 + block)]);
      await follower.follow({ reader: slow });
    }));

  it.each(['head', 'headersByNumber', 'logsOfRange', 'logsOfBlock'] as const)(
    'whose %s never answers does not delay the stop',
    (method) =>
      inSimulatedTime(async (time) => {
        await using follower = new FollowerUnderTest({ blocks: 40 });
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
        const askedAt = time.elapsed();
        await follower.stop();
        expect(time.elapsed()).toBe(askedAt);
      }),
  );
});
