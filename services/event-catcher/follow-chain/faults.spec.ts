import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { ChainUnavailable, type ChainReader } from '../../../shared/chain/chain-reader.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { closed, forgetful, interrupted } from '../testing/awkward-readers.ts';
import { withoutProgress } from '../testing/awkward-stores.ts';
import { approval, approvalWatch, Catching, mineSome, otherContract, transfer } from '../testing/catching.ts';
import { overriding } from '../testing/overriding.ts';

/** Twenty blocks caught; then what is mined, killed between storing their records and the progress that speaks of them. */
const killedBeforeProgress = async (mine: (catching: Catching) => void): Promise<Catching> => {
  const catching = new Catching();
  for (let block = 1; block <= 20; block += 1) catching.chain.mine([transfer(block)]);
  await catching.register();
  catching.start();
  await catching.expectChain();
  await catching.stop();
  mine(catching);
  catching.start({ store: withoutProgress(catching.store) });
  const expected = catching.idsOnChain().length;
  await eventually(
    async () => (await catching.observed()).length === expected,
    15_000,
    'the new records must be stored',
  );
  await catching.stop();
  return catching;
};

describe('a follower that was killed before it stored how far it came', () => {
  it('reverts what was reorganised away, though it was away for long', async () => {
    const catching = await killedBeforeProgress(({ chain }) => chain.mine([transfer(101)]));
    catching.chain.takeBack(1);
    for (let block = 0; block < 600; block += 1)
      catching.chain.mine(block % 100 === 0 ? [transfer(1_000 + block)] : []);
    catching.start();
    await catching.expectChain();
    await catching.stop();
  });

  it('reverts what was reorganised away by a branch that is shorter, and stores how far it has come', async () => {
    const catching = await killedBeforeProgress(({ chain }) => {
      chain.mine([]);
      chain.mine([]);
      chain.mine([transfer(101)]);
    });
    catching.chain.takeBack(3);
    catching.chain.mine([transfer(55)]);
    catching.start();
    await catching.expectChain();
    await catching.stop();
  });

  it.each([
    ['near', 2],
    ['far', 505],
  ])('reverts what is reorganised away while it looks for its place, %s behind', async (_how, blocks) => {
    for (let calls = 1; calls <= 7; calls += 1) {
      const catching = await killedBeforeProgress(({ chain }) => {
        for (let left = blocks; left > 0; left -= 1) chain.mine(left <= 2 ? [transfer(left)] : []);
      });
      catching.chain.mine([]);
      const reorganise = () => {
        catching.chain.takeBack(3);
        for (let block = 0; block < 4; block += 1) catching.chain.mine([transfer(300 + block)]);
        return Promise.resolve();
      };
      catching.start({ reader: interrupted(catching.chain, calls, reorganise) });
      await eventually(
        () => catching.chain.logs.at(-1)?.data.endsWith((303).toString(16)),
        15_000,
        'it must ask so often',
      );
      await catching.expectChain();
      await catching.stop();
    }
  });

  it('reverts what is reorganised away before the head, which lags, comes to it', async () => {
    const catching = await killedBeforeProgress(({ chain }) => {
      chain.mine([transfer(101)]);
      chain.mine([transfer(102)]);
    });
    const { chain } = catching;
    const [lagging] = await chain.headersByNumber([21]);
    let asked = 0;
    const head = () => {
      asked += 1;
      return lagging && chain.logs.at(-1)?.data.endsWith('66') ? Promise.resolve(lagging) : chain.head();
    };
    catching.start({ reader: overriding<ChainReader>(chain, { head }) });
    await eventually(() => asked > 2, 15_000, 'it must follow the head that lags');
    chain.takeBack(1);
    chain.mine([transfer(103)]);
    await catching.expectChain();
    await catching.stop();
  });

  it('knows what was stored of a watch that the stored progress does not know', async () => {
    const catching = new Catching();
    for (let block = 1; block <= 20; block += 1) catching.chain.mine([approval(block)]);
    const pruned = overriding<ChainReader>(catching.chain, {
      logsOfRange: (from, to, filter) =>
        filter.addresses.includes(otherContract)
          ? Promise.reject(new ChainUnavailable('history pruned'))
          : catching.chain.logsOfRange(from, to, filter),
    });
    await catching.register({ watchId: 'wch_other', contractAddress: otherContract });
    catching.chain.mine([{ ...transfer(1), address: otherContract }]);
    mineSome(catching.chain, 10);
    // Stores the range of the first watch, and dies: no progress is stored until that range is read again.
    await catching.runUntilKilled(3, true);
    await catching.register(approvalWatch);
    const wanted = catching.idsOnChain().length;
    catching.start({ reader: pruned });
    await eventually(
      async () => (await catching.observed()).length === wanted,
      15_000,
      'the second watch must be read',
    );
    await catching.stop();
    catching.chain.takeBack(4);
    catching.chain.mine([]);
    catching.start();
    await catching.expectChain();
    await catching.stop();
  });

  it('extends a watch to blocks that it has stored already', async () => {
    const catching = new Catching();
    for (let block = 1; block <= 20; block += 1) catching.chain.mine([transfer(block)]);
    await catching.register({ startBlock: 19 });
    catching.start();
    await catching.expectChain();
    await catching.stop();
    const before = (await catching.observed()).length;
    await catching.extend(10);
    // Stores what the extension has in blocks that are not final, and dies before the progress.
    await catching.runUntilKilled(2, true);
    expect((await catching.observed()).length).toBeGreaterThan(before);
    catching.start();
    await catching.expectChain();
    await catching.stop();
  });

  it('stores how far it has come, when a block that was reverted and observed again is of the chain', async () => {
    const catching = await killedBeforeProgress(({ chain }) => chain.mine([transfer(101)]));
    catching.start();
    await catching.expectChain();
    await catching.stop();
    const store = withoutProgress(catching.store);
    const reached = async (changes: number) => {
      catching.start({ store });
      await eventually(async () => (await catching.changes()).length === changes, 15_000, 'it must come so far');
      await catching.stop();
    };
    const giveBack = catching.chain.takeBack(1);
    catching.chain.mine([transfer(102)]);
    await reached(23);
    giveBack();
    await reached(25);
    catching.chain.mine([]);
    catching.start();
    await catching.expectChain();
    await catching.stop();
  });
});

describe('a watch that is extended before it is live', () => {
  it.each([
    ['nothing of it is read', 30, 20, 5],
    ['and whose first start was not final', 30, 28, 5],
    ['by blocks that are not final', 30, 29, 27],
  ])('when %s', async (_when, blocks, startBlock, extendedTo) => {
    const catching = new Catching();
    for (let block = 1; block <= blocks; block += 1) catching.chain.mine([transfer(block)]);
    await catching.register({ startBlock });
    await catching.extend(extendedTo);
    catching.start();
    await catching.expectChain();
    await catching.stop();
  });

  it('while its first blocks are asked for, which then are stored once, behind those before them', async () => {
    const catching = new Catching();
    for (let block = 1; block <= 300; block += 1) catching.chain.mine([transfer(block)]);
    await catching.register({ startBlock: 100 });
    const asked: number[] = [];
    const { reader, open } = closed(catching.chain);
    const logsOfRange: ChainReader['logsOfRange'] = (from, ...rest) => {
      asked.push(from);
      return reader.logsOfRange(from, ...rest);
    };
    catching.start({ reader: overriding(reader, { logsOfRange }) });
    await eventually(() => asked.length === 1, 15_000, 'the first blocks must be asked for');
    await catching.extend(5);
    await eventually(
      async () => (await catching.progress())?.backfills[0]?.next === 5,
      15_000,
      'the extension must be taken',
    );
    open();
    await catching.expectChain();
    await catching.stop();
    expect(await catching.observed()).toEqual(catching.idsOnChain());
    // What was left behind led nowhere.
    expect(asked.slice(0, 2)).toEqual([100, 5]);
    expect(catching.starts).toBe(1);
  });

  it('reads no block as a range that may be reorganised', async () => {
    const catching = new Catching({ confirmations: 64 });
    for (let block = 1; block <= 30; block += 1) catching.chain.mine([transfer(block)]);
    await catching.register({ startBlock: 20 });
    await catching.extend(5);
    catching.start();
    await catching.expectChain();
    await catching.stop();
    expect(catching.chain.calls).not.toContain('logsOfRange');
  });
});

describe('a provider', () => {
  it('that forgets orphans does not hold up a watch whose blocks were reorganised before it joined', async () => {
    const catching = new Catching({ confirmations: 64 });
    for (let block = 1; block <= 20; block += 1) catching.chain.mine([transfer(block)]);
    await catching.register({ startBlock: 1 });
    const slow = overriding(forgetful(catching.chain), {
      head: async () => {
        await pause(5);
        return catching.chain.head();
      },
    });
    const down = () => Promise.reject(new ChainUnavailable('down'));
    const loop = catching.start({ reader: overriding(slow, { logsOfBlock: down }) });
    await eventually(() => loop.lastError === 'down', 15_000, 'the first start must fail');
    await catching.stop();
    catching.chain.takeBack(3);
    for (let block = 0; block < 5; block += 1) catching.chain.mine([transfer(500 + block)]);
    catching.start({ reader: slow });
    await catching.expectChain();
    await catching.stop();
  });

  it('that lacks the history of some watches does not hold up another', async () => {
    const catching = new Catching();
    mineSome(catching.chain, 40);
    for (let index = 0; index < 4; index += 1) {
      await catching.register({ watchId: `wch_${String(index)}`, contractAddress: otherContract });
    }
    await catching.register();
    const pruned = overriding<ChainReader>(catching.chain, {
      logsOfRange: (from, to, filter) =>
        filter.addresses.includes(otherContract)
          ? Promise.reject(new ChainUnavailable('history pruned'))
          : catching.chain.logsOfRange(from, to, filter),
    });
    catching.start({ reader: pruned });
    const expected = catching.idsOnChain().length;
    await eventually(
      async () => (await catching.observed()).length === expected,
      15_000,
      'the fifth watch must be read',
    );
    await catching.stop();
  });

  it.each(['head', 'headersByNumber', 'logsOfRange', 'logsOfBlock'] as const)(
    'whose %s never answers does not hold up the stop',
    async (method) => {
      const catching = new Catching();
      mineSome(catching.chain, 40);
      await catching.register();
      await catching.register(approvalWatch);
      const { promise: asked, resolve } = Promise.withResolvers<string>();
      const hanging = overriding<ChainReader>(catching.chain, {
        [method]: () => {
          resolve(method);
          return Promise.withResolvers<never>().promise;
        },
      });
      catching.start({ reader: hanging });
      await asked;
      const stoppedAt = performance.now();
      await catching.stop();
      expect(performance.now() - stoppedAt).toBeLessThan(1_000);
    },
  );
});

describe('the first range', () => {
  it('is small, and those after it grow where there is little', async () => {
    const catching = new Catching();
    for (let block = 0; block < 3_000; block += 1) catching.chain.mine([]);
    await catching.register();
    const sizes: number[] = [];
    const reader = overriding<ChainReader>(catching.chain, {
      logsOfRange: (from, to, filter) => {
        sizes.push(to - from + 1);
        return catching.chain.logsOfRange(from, to, filter);
      },
    });
    catching.start({ reader });
    await catching.expectChain();
    await catching.stop();
    expect(sizes[0]).toBe(50);
    expect(sizes.length).toBeLessThan(6);
  });
});
