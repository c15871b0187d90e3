import { describe, expect, it } from '@jest/globals';
import { inSimulatedTime } from '../../../shared/testing/simulation/simulated-globals.ts';
import { FollowerUnderTest, mineSome, otherContract, transfer } from '../testing/follower/follower-under-test.ts';

const CONFIRMATIONS = 5;

describe('following a chain', () => {
  it('backfills from the start block, joins the head, and keeps chain order', async () => {
    await using follower = new FollowerUnderTest({ blocks: 40 });
    await follower.register();
    await follower.follow();
    mineSome(follower.chain, 10, 1_000);
    await follower.expectChain();
    await follower.stop();
    expect(await follower.observed()).toEqual(follower.recordsOnChain());
    const origins = (await follower.changes()).map(({ data }) => data.Origin);
    expect(origins).toEqual([...origins].sort());
    expect(new Set(origins)).toEqual(new Set(['backfill', 'live']));
  });

  it('begins at a start block that is not final yet', async () => {
    await using follower = new FollowerUnderTest({ blocks: 20 });
    await follower.register({ startBlock: follower.chain.tip.number - 2 });
    follower.start();
    await follower.caughtUp();
    mineSome(follower.chain, 3, 500);
    await follower.expectChain();
  });

  it('reads a block once, and its logs at most once for all watches', async () => {
    await using follower = new FollowerUnderTest();
    await follower.register();
    await follower.register({ watchId: 'wch_other', contractAddress: otherContract });
    follower.start();
    await follower.caughtUp();
    follower.chain.calls.length = 0;
    follower.chain.mine([transfer(1)]);
    await follower.expectChain();
    follower.chain.mine([]);
    await follower.expectChain();
    await follower.stop();
    expect(follower.chain.calls.filter((call) => call !== 'head')).toEqual(['logsOfBlock']);
  });

  it('stores nothing while nothing happens', () =>
    inSimulatedTime(async () => {
      await using follower = new FollowerUnderTest();
      await follower.register();
      follower.start();
      await follower.caughtUp();
      const head = await follower.store.head();
      const callsBefore = follower.chain.calls.length;
      await follower.until(() => follower.chain.calls.length > callsBefore + 1_200, 'the head must be read often');
      await follower.stop();
      expect(await follower.store.head()).toBe(head);
    }));

  it('reads the blocks that it missed during a long stop as ranges', async () => {
    await using follower = new FollowerUnderTest({ blocks: 12 });
    await follower.register();
    await follower.follow();
    await follower.stop();
    mineSome(follower.chain, 700, 10_000);
    follower.chain.calls.length = 0;
    await follower.follow();
    await follower.stop();
    expect(follower.chain.calls.filter((call) => call === 'logsOfBlock').length).toBeLessThan(2 * CONFIRMATIONS);
  });
});

describe('the stored progress of a chain', () => {
  it('does not grow with the number of records', async () => {
    await using follower = new FollowerUnderTest({ confirmations: 20 });
    const contracts = Array.from({ length: 200 }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '0')}`);
    await follower.register();
    for (const contractAddress of contracts) await follower.register({ watchId: contractAddress, contractAddress });
    follower.start();
    await follower.caughtUp();
    const logs = contracts.map((address) => ({ ...transfer(1), address }));
    for (let block = 0; block < 20; block += 1) follower.chain.mine([transfer(block), ...logs]);
    await follower.expectChain();
    expect(JSON.stringify(await follower.progress()).length).toBeLessThan(21 * 300);
    follower.chain.rollBack(10);
    mineSome(follower.chain, 11, 1_000);
    await follower.expectChain();
    await follower.stop();
    for (const address of contracts) {
      const changes = await follower.store.read(`chain-2484-${address}`);
      expect(changes.map(({ type }) => type)).toEqual([
        ...Array<string>(20).fill('ChainEventObserved'),
        ...Array<string>(10).fill('ChainEventReverted'),
      ]);
    }
  });
});

describe('a head that jumps far ahead', () => {
  it('is followed without a restart', async () => {
    await using follower = new FollowerUnderTest({ blocks: 10 });
    await follower.register();
    follower.start();
    await follower.caughtUp();
    mineSome(follower.chain, 600);
    await follower.expectChain();
    await follower.stop();
    expect(follower.starts).toBe(1);
  });
});

describe('a reorganisation', () => {
  it.each([1, 2, 3, 5])('of depth %i reverts records newest first, and reads the new branch', async (depth) => {
    await using follower = new FollowerUnderTest({ blocks: 10 });
    await follower.register();
    follower.start();
    await follower.caughtUp();
    for (let block = 0; block < 5; block += 1) follower.chain.mine([transfer(block), transfer(100 + block)]);
    await follower.expectChain();
    follower.chain.rollBack(depth);
    for (let block = 0; block <= depth; block += 1) follower.chain.mine([transfer(200 + block)]);
    await follower.expectChain();
    await follower.stop();
    const reversals = (await follower.changes()).filter(({ type }) => type === 'ChainEventReverted');
    const blockAndLog = reversals.map(({ data }) => [data.BlockNumber, data.LogIndex] as [number, number]);
    expect(reversals).toHaveLength(2 * depth);
    expect(blockAndLog).toEqual(
      blockAndLog.toSorted(([aBlock, aLog], [bBlock, bLog]) => bBlock - aBlock || bLog - aLog),
    );
  });

  it('that brings a block back observes its records again', async () => {
    await using follower = new FollowerUnderTest();
    await follower.register();
    follower.start();
    follower.chain.mine([transfer(1)]);
    await follower.expectChain();
    const restore = follower.chain.rollBack(1);
    follower.chain.mine([transfer(2)]);
    await follower.expectChain();
    restore();
    follower.chain.mine([]);
    await follower.expectChain();
    await follower.stop();
    expect((await follower.changes()).map(({ type, data }) => [type, data.Data['value']])).toEqual([
      ['ChainEventObserved', '1'],
      ['ChainEventReverted', '1'],
      ['ChainEventObserved', '2'],
      ['ChainEventReverted', '2'],
      ['ChainEventObserved', '1'],
    ]);
  });

  it('deeper than finality pauses the chain, which goes on when its provider has the final block again', async () => {
    await using follower = new FollowerUnderTest({ blocks: 20 });
    await follower.register();
    await follower.follow();
    await follower.stop();
    const before = await follower.store.head();
    const restore = follower.chain.rollBack(15);
    mineSome(follower.chain, 20, 900);
    const loop = follower.start();
    const error = () => follower.meter.chainError;
    await follower.until(() => error()?.includes('another block is in the place'), 'the status must say what is wrong');
    await follower.until(() => loop.state === 'running', 'the process must be ready');
    expect(await follower.store.head()).toBe(before);
    restore();
    mineSome(follower.chain, 1);
    await follower.expectChain();
    expect([follower.starts, error()]).toEqual([2, null]);
  });
});

describe('a development chain that lost blocks', () => {
  it('is read again from the beginning if it lost final blocks', async () => {
    await using follower = new FollowerUnderTest({ blocks: 20, isDevelopment: true });
    await follower.register();
    await follower.follow();
    follower.chain.rollBack(15);
    mineSome(follower.chain, 3, 900);
    await follower.expectChain();
    await follower.stop();
    follower.chain.rollBack(8);
    await follower.follow();
  });

  it.each(['while it runs', 'between two starts'])(
    'is followed back %s, even if no block is mined after that',
    async (when) => {
      await using follower = new FollowerUnderTest({ isDevelopment: true });
      for (let block = 1; block <= 20; block += 1) follower.chain.mine([transfer(block)]);
      await follower.register();
      await follower.follow();
      if (when === 'between two starts') await follower.stop();
      follower.chain.rollBack(3);
      if (when === 'between two starts') follower.start();
      await follower.expectChain();
    },
  );
});
