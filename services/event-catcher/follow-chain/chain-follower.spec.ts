import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../schemas/json.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { Catching, mineSome, otherContract, transfer, transferWatch } from '../testing/catching.ts';

const CONFIRMATIONS = 5;

describe('following a chain', () => {
  it('backfills from the start block, joins the head, and keeps chain order', async () => {
    const catching = new Catching();
    mineSome(catching.chain, 40);
    await catching.register();
    catching.start();
    await catching.expectChain();
    mineSome(catching.chain, 10, 1_000);
    await catching.expectChain();
    await catching.stop();
    expect(await catching.observed()).toEqual(catching.idsOnChain());
    const origins = (await catching.changes()).map(({ data }) => data['Origin']);
    expect(origins).toEqual([...origins].sort());
    expect(new Set(origins)).toEqual(new Set(['backfill', 'live']));
  });

  it('stores the record as the interface has it', async () => {
    const catching = new Catching();
    await catching.register();
    catching.start();
    await catching.caughtUp();
    const { hash, number } = catching.chain.mine([transfer(7)]);
    await catching.expectChain();
    await catching.stop();
    const [event] = await catching.changes();
    expect(event?.data).toMatchObject({
      ChainId: 2484,
      ContractAddress: transferWatch.contractAddress,
      EventName: 'Transfer',
      EventSignature: transferWatch.eventSignature,
      BlockNumber: number,
      BlockHash: hash,
      BlockTime: '2023-11-14T22:13:21.000Z',
      LogIndex: 0,
      Data: { from: `0x${'0'.repeat(39)}1`, to: `0x${'0'.repeat(39)}2`, value: '7' },
      Origin: 'live',
    });
  });

  it('begins at the start block, also one that is not final yet', async () => {
    const catching = new Catching();
    mineSome(catching.chain, 20);
    await catching.register({ startBlock: catching.chain.tip.number - 2 });
    catching.start();
    await catching.caughtUp();
    mineSome(catching.chain, 3, 500);
    await catching.expectChain();
    await catching.stop();
  });

  it('asks for a block once, and for its logs once for all watches or not at all', async () => {
    const catching = new Catching();
    await catching.register();
    await catching.register({ watchId: 'wch_other', contractAddress: otherContract });
    catching.start();
    await catching.caughtUp();
    catching.chain.calls.length = 0;
    catching.chain.mine([transfer(1)]);
    await catching.expectChain();
    catching.chain.mine([]);
    await catching.expectChain();
    await catching.stop();
    expect(catching.chain.calls.filter((call) => call !== 'head')).toEqual(['logsOfBlock']);
  });

  it('stores nothing while nothing happens', async () => {
    const catching = new Catching();
    await catching.register();
    catching.start();
    await catching.caughtUp();
    const head = await catching.store.head();
    const callsBefore = catching.chain.calls.length;
    await eventually(
      () => catching.chain.calls.length > callsBefore + 1_200,
      10_000,
      'the head must be asked for often',
    );
    await catching.stop();
    expect(await catching.store.head()).toBe(head);
  });

  it('extends a watch backwards without touching what is there', async () => {
    const catching = new Catching();
    mineSome(catching.chain, 30);
    await catching.register({ startBlock: 25 });
    catching.start();
    await catching.caughtUp();
    await catching.extend(0);
    await catching.expectChain();
    await catching.stop();
  });

  it('reads as ranges what it missed while it was away for long', async () => {
    const catching = new Catching();
    await catching.register();
    mineSome(catching.chain, 12);
    catching.start();
    await catching.expectChain();
    await catching.stop();
    mineSome(catching.chain, 700, 10_000);
    catching.chain.calls.length = 0;
    catching.start();
    await catching.expectChain();
    await catching.stop();
    expect(catching.chain.calls.filter((call) => call === 'logsOfBlock').length).toBeLessThan(2 * CONFIRMATIONS);
  });

  it('reads as ranges what was mined at once while it runs', async () => {
    const catching = new Catching();
    await catching.register();
    mineSome(catching.chain, 12);
    catching.start();
    await catching.expectChain();
    mineSome(catching.chain, 700, 10_000);
    await catching.expectChain();
    await catching.stop();
  });
});

describe('what says how far a chain was read', () => {
  it('does not grow with what was observed', async () => {
    const catching = new Catching({ confirmations: 20 });
    const contracts = Array.from({ length: 200 }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '0')}`);
    await catching.register();
    for (const contractAddress of contracts) await catching.register({ watchId: contractAddress, contractAddress });
    catching.start();
    await catching.caughtUp();
    const logs = contracts.map((address) => ({ ...transfer(1), address }));
    for (let block = 0; block < 20; block += 1) catching.chain.mine([transfer(block), ...logs]);
    await catching.expectChain();
    expect(JSON.stringify(await catching.progress()).length).toBeLessThan(21 * 300);
    catching.chain.takeBack(10);
    mineSome(catching.chain, 11, 1_000);
    await catching.expectChain();
    await catching.stop();
    for (const address of contracts) {
      const changes = await catching.store.read(`chain-2484-${address}`);
      expect(changes.map(({ type }) => type)).toEqual([
        ...Array<string>(20).fill('ChainEventObserved'),
        ...Array<string>(10).fill('ChainEventReverted'),
      ]);
    }
  });
});

describe('a head that went far away at once', () => {
  it('is followed without a failure', async () => {
    const catching = new Catching();
    mineSome(catching.chain, 10);
    await catching.register();
    catching.start();
    await catching.caughtUp();
    mineSome(catching.chain, 600);
    await catching.expectChain();
    await catching.stop();
    expect(catching.starts).toBe(1);
  });
});

describe('a reorganisation', () => {
  it.each([1, 2, 3, 5])('of depth %i reverts, newest first, and takes the new branch', async (depth) => {
    const catching = new Catching();
    mineSome(catching.chain, 10);
    await catching.register();
    catching.start();
    await catching.caughtUp();
    for (let block = 0; block < 5; block += 1) catching.chain.mine([transfer(block), transfer(100 + block)]);
    await catching.expectChain();
    catching.chain.takeBack(depth);
    for (let block = 0; block <= depth; block += 1) catching.chain.mine([transfer(200 + block)]);
    await catching.expectChain();
    await catching.stop();
    const reversals = (await catching.changes()).filter(({ type }) => type === 'ChainEventReverted');
    const places = reversals.map(({ data }) => [data['BlockNumber'], data['LogIndex']] as [number, number]);
    expect(reversals).toHaveLength(2 * depth);
    expect(places).toEqual(places.toSorted(([aBlock, aLog], [bBlock, bLog]) => bBlock - aBlock || bLog - aLog));
  });

  it('that gives a block back observes it again', async () => {
    const catching = new Catching();
    await catching.register();
    catching.start();
    catching.chain.mine([transfer(1)]);
    await catching.expectChain();
    const giveBack = catching.chain.takeBack(1);
    catching.chain.mine([transfer(2)]);
    await catching.expectChain();
    giveBack();
    catching.chain.mine([]);
    await catching.expectChain();
    await catching.stop();
    expect((await catching.changes()).map(({ type, data }) => [type, (data['Data'] as JsonObject)['value']])).toEqual([
      ['ChainEventObserved', '1'],
      ['ChainEventReverted', '1'],
      ['ChainEventObserved', '2'],
      ['ChainEventReverted', '2'],
      ['ChainEventObserved', '1'],
    ]);
  });

  it('deeper than finality stops the follower, which stores nothing of it', async () => {
    const catching = new Catching();
    mineSome(catching.chain, 20);
    await catching.register();
    catching.start();
    await catching.expectChain();
    await catching.stop();
    const before = await catching.store.head();
    catching.chain.takeBack(15);
    mineSome(catching.chain, 20, 900);
    const loop = catching.start();
    await eventually(() => loop.lastError?.includes('contradicts'), 15_000, 'the follower must say what is wrong');
    await catching.stop();
    expect(await catching.store.head()).toBe(before);
  });
});

describe('a development chain that lost blocks', () => {
  it('is read again from the beginning when final ones are among them', async () => {
    const catching = new Catching({ isDevelopment: true });
    mineSome(catching.chain, 20);
    await catching.register();
    catching.start();
    await catching.expectChain();
    catching.chain.takeBack(15);
    mineSome(catching.chain, 3, 900);
    await catching.expectChain();
    await catching.stop();
    catching.chain.takeBack(8);
    catching.start();
    await catching.expectChain();
    await catching.stop();
  });

  it.each(['while it runs', 'between two starts'])(
    'is followed back %s, though nothing is mined after',
    async (when) => {
      const catching = new Catching({ isDevelopment: true });
      for (let block = 1; block <= 20; block += 1) catching.chain.mine([transfer(block)]);
      await catching.register();
      catching.start();
      await catching.expectChain();
      if (when === 'between two starts') await catching.stop();
      catching.chain.takeBack(3);
      if (when === 'between two starts') catching.start();
      await catching.expectChain();
      await catching.stop();
    },
  );
});
