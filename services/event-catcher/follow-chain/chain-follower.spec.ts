import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { pino } from 'pino';
import type { ChainEvent, ChainProgressEvent } from '../../../schemas/events/chain-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { MemoryChain } from '../../../shared/chain/chain-reader.memory.ts';
import type { ChainReader } from '../../../shared/chain/chain-reader.ts';
import { MemoryEventStore } from '../../../shared/event-store/event-store.memory.ts';
import type { EventStore, StoredEvent } from '../../../shared/event-store/event-store.ts';
import { SupervisedLoop } from '../../../shared/lifecycle/supervised-loop.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { ChainFollower } from './chain-follower.ts';
import { ProgressMeter } from './progress-meter.ts';

const CHAIN_ID = 2484;
const CONFIRMATIONS = 5;
const registered = eventExamples.ContractRegistered;
const contract = registered.contractAddress.toLowerCase();
const stream = `chain-${String(CHAIN_ID)}-${contract}`;
const word = (value: number) => value.toString(16).padStart(64, '0');

/** A transfer of `value` from 1 to 2. */
const transfer = (value: number) => ({
  address: contract,
  topics: [registered.topic0 ?? '', `0x${word(1)}`, `0x${word(2)}`],
  data: `0x${word(value)}`,
});

const register = async (store: EventStore, data: Partial<typeof registered> = {}): Promise<void> => {
  const watchId = data.watchId ?? registered.watchId;
  await store.append(`watch-${watchId}`, -1, [
    anEvent({ type: 'ContractRegistered', data: { ...registered, startBlock: 0, ...data } as JsonObject }),
  ]);
};

class Catching {
  readonly chain = new MemoryChain(CHAIN_ID);
  readonly store = new MemoryEventStore();
  private loop: SupervisedLoop | undefined;

  start({ store = this.store as EventStore, reader = this.chain as ChainReader, isDevelopment = false } = {}): SupervisedLoop {
    const dependencies = {
      eventStore: store,
      reader,
      clock: systemClock,
      ids: systemIds,
      meter: new ProgressMeter(systemClock),
      logger: pino({ level: 'silent' }),
    };
    const followed = { chainId: CHAIN_ID, confirmations: CONFIRMATIONS, pollMs: 1, isDevelopment };
    this.loop = new SupervisedLoop('follower', dependencies.logger, (signal, working) =>
      ChainFollower.run(followed, dependencies, signal, working),
    );
    this.loop.start();
    return this.loop;
  }

  async stop(): Promise<void> {
    await this.loop?.stop();
  }

  /** What stands, as the changes in their order tell it; fails if anything is told twice. */
  async standing(): Promise<string[]> {
    const standing = new Set<string>();
    for (const stored of await this.store.read(stream)) {
      const { type, data } = stored as StoredEvent & ChainEvent;
      const isNews = type === 'ChainEventObserved' ? !standing.has(data.Id) : standing.has(data.Id);
      if (!isNews) throw new Error(`${type} of ${data.Id} tells nothing new`);
      if (type === 'ChainEventObserved') standing.add(data.Id);
      else standing.delete(data.Id);
    }
    return [...standing];
  }

  idsOnChain(): string[] {
    return this.chain.logs.map(
      ({ blockHash, txHash, logIndex }) => `${String(CHAIN_ID)}:${blockHash}:${txHash}:${String(logIndex)}`,
    );
  }

  async progress(): Promise<ChainProgressEvent['data'] | undefined> {
    const [stored] = await this.store.read(`chain-${String(CHAIN_ID)}`);
    return (stored as (StoredEvent & ChainProgressEvent) | undefined)?.data;
  }

  /** Waits until the head is reached and nothing is left to read. */
  async caughtUp(): Promise<void> {
    await eventually(
      async () => {
        const progress = await this.progress();
        return progress?.window.at(-1)?.hash === this.chain.tip.hash && progress.backfills.length === 0;
      },
      5_000,
      'the follower must catch up with the head',
    );
  }

  async expectChain(): Promise<void> {
    await this.caughtUp();
    const expected = this.idsOnChain();
    await eventually(
      async () => JSON.stringify((await this.standing()).sort()) === JSON.stringify([...expected].sort()),
      5_000,
      'what stands must be what the chain has',
    );
  }
}

const mineSome = (chain: MemoryChain, blocks: number, from = 0): void => {
  for (let index = 0; index < blocks; index += 1) {
    chain.mine(Array.from({ length: index % 3 }, (_, log) => transfer(from + index * 10 + log)));
  }
};

describe('following a chain', () => {
  it('backfills from the start block, joins the head, and keeps chain order', async () => {
    const catching = new Catching();
    mineSome(catching.chain, 40);
    await register(catching.store);
    catching.start();
    await catching.expectChain();
    mineSome(catching.chain, 10, 1_000);
    await catching.expectChain();
    await catching.stop();
    expect(await catching.standing()).toEqual(catching.idsOnChain());
    const origins = (await catching.store.read(stream)).map(({ data }) => data['Origin']);
    expect(origins).toEqual([...origins].sort());
    expect(new Set(origins)).toEqual(new Set(['backfill', 'live']));
  });

  it('stores the record as the interface has it', async () => {
    const catching = new Catching();
    await register(catching.store);
    catching.start();
    await catching.caughtUp();
    const { hash, number } = catching.chain.mine([transfer(7)]);
    await catching.expectChain();
    await catching.stop();
    const [event] = await catching.store.read(stream);
    expect(event?.data).toMatchObject({
      ChainId: CHAIN_ID,
      ContractAddress: registered.contractAddress,
      EventName: 'Transfer',
      EventSignature: registered.eventSignature,
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
    const startBlock = catching.chain.tip.number - 2;
    await register(catching.store, { startBlock });
    catching.start();
    await catching.caughtUp();
    mineSome(catching.chain, 3, 500);
    await catching.caughtUp();
    await catching.stop();
    const wanted = catching.chain.logs.filter(({ blockNumber }) => blockNumber >= startBlock);
    expect(await catching.standing()).toHaveLength(wanted.length);
  });

  it.each([1, 2, 3, 5])('reverts a reorganisation of depth %i, newest first, and takes the new branch', async (depth) => {
    const catching = new Catching();
    mineSome(catching.chain, 10);
    await register(catching.store);
    catching.start();
    await catching.caughtUp();
    for (let block = 0; block < 5; block += 1) catching.chain.mine([transfer(block), transfer(100 + block)]);
    await catching.expectChain();
    catching.chain.takeBack(depth);
    for (let block = 0; block <= depth; block += 1) catching.chain.mine([transfer(200 + block)]);
    await catching.expectChain();
    await catching.stop();
    const reversals = (await catching.store.read(stream)).filter(({ type }) => type === 'ChainEventReverted');
    const places = reversals.map(({ data }) => [data['BlockNumber'], data['LogIndex']] as [number, number]);
    expect(reversals).toHaveLength(2 * depth);
    expect(places).toEqual(places.toSorted(([aBlock, aLog], [bBlock, bLog]) => bBlock - aBlock || bLog - aLog));
  });

  it('observes a block again that comes back', async () => {
    const catching = new Catching();
    await register(catching.store);
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
    expect((await catching.store.read(stream)).map(({ type, data }) => [type, (data['Data'] as JsonObject)['value']])).toEqual([
      ['ChainEventObserved', '1'],
      ['ChainEventReverted', '1'],
      ['ChainEventObserved', '2'],
      ['ChainEventReverted', '2'],
      ['ChainEventObserved', '1'],
    ]);
  });

  it('asks for a block once, and for its logs once for all watches or not at all', async () => {
    const catching = new Catching();
    await register(catching.store);
    await register(catching.store, { watchId: 'wch_other', contractAddress: `0x${'0'.repeat(39)}1` });
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

  it('extends a watch backwards without touching what is there', async () => {
    const catching = new Catching();
    mineSome(catching.chain, 30);
    await register(catching.store, { startBlock: 25 });
    catching.start();
    await catching.caughtUp();
    await catching.store.append(`watch-${registered.watchId}`, 0, [
      anEvent({ type: 'WatchExtended', data: { ...eventExamples.WatchExtended, startBlock: 0 } }),
    ]);
    await catching.expectChain();
    await catching.stop();
  });

  it('reads as ranges what it missed while it was away for long', async () => {
    const catching = new Catching();
    await register(catching.store);
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

  it('stops at a chain that contradicts a final block, and stores nothing of it', async () => {
    const catching = new Catching();
    mineSome(catching.chain, 20);
    await register(catching.store);
    catching.start();
    await catching.expectChain();
    await catching.stop();
    const before = await catching.store.head();
    catching.chain.takeBack(15);
    mineSome(catching.chain, 20, 900);
    const loop = catching.start();
    await eventually(() => loop.lastError?.includes('contradicts'), 2_000, 'the follower must say what is wrong');
    await catching.stop();
    expect(await catching.store.head()).toBe(before);
  });

  it('reads a development chain that lost blocks again from the beginning', async () => {
    const catching = new Catching();
    mineSome(catching.chain, 20);
    await register(catching.store);
    catching.start({ isDevelopment: true });
    await catching.expectChain();
    catching.chain.takeBack(15);
    mineSome(catching.chain, 3, 900);
    await catching.expectChain();
    await catching.stop();
    catching.chain.takeBack(8);
    catching.start({ isDevelopment: true });
    await catching.expectChain();
    await catching.stop();
  });

  it('equals the chain after crashes between any two steps, whatever the chain does meanwhile', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('mine' as const), blocks: fc.integer({ min: 1, max: 8 }) }),
      fc.record({ kind: fc.constant('reorganise' as const), depth: fc.integer({ min: 1, max: 4 }), blocks: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ kind: fc.constant('crash' as const), appends: fc.integer({ min: 0, max: 6 }), lost: fc.boolean() }),
      fc.record({ kind: fc.constant('register' as const), startBlock: fc.integer({ min: 0, max: 10 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
        const catching = new Catching();
        mineSome(catching.chain, 12);
        await register(catching.store);
        let value = 1_000;
        for (const one of steps) {
          value += 1_000;
          if (one.kind === 'mine') mineSome(catching.chain, one.blocks, value);
          if (one.kind === 'reorganise') {
            const depth = Math.min(one.depth, CONFIRMATIONS - 1);
            catching.chain.takeBack(depth);
            mineSome(catching.chain, Math.max(one.blocks, depth), value);
          }
          if (one.kind === 'register') {
            const startBlock = Math.min(one.startBlock, catching.chain.tip.number);
            await register(catching.store, { watchId: `wch_${randomUUID()}`, contractAddress: `0x${'0'.repeat(39)}1`, startBlock });
          }
          if (one.kind === 'crash') {
            catching.start({ store: crashingAfter(catching.store, one.appends, one.lost) });
            await crashed;
            await catching.stop();
          }
        }
        catching.start();
        await catching.expectChain();
        await catching.stop();
      }),
      { numRuns: 60 },
    );
  });
});

const IDLE_MS = 60;
let crashed: Promise<void> = Promise.resolve();

/** A store that dies after so many appends: the last one is stored or not, and nobody hears of it. */
const crashingAfter = (store: EventStore, appends: number, isLost: boolean): EventStore => {
  let left = appends;
  const { promise, resolve } = Promise.withResolvers<void>();
  const { promise: never } = Promise.withResolvers<never>();
  // A store that is asked for less never dies; then the process is killed while it is idle.
  const { promise: idle, resolve: isIdle } = Promise.withResolvers<void>();
  setTimeout(isIdle, IDLE_MS).unref();
  crashed = Promise.race([promise, idle]);
  return {
    append: async (stream, revision, events) => {
      if (left === 0) {
        if (!isLost) await store.append(stream, revision, events);
        resolve();
        left = -1;
      }
      if (left < 0) throw new Error('the process is dead');
      left -= 1;
      return store.append(stream, revision, events);
    },
    read: store.read.bind(store),
    readAll: store.readAll.bind(store),
    subscribeAll: store.subscribeAll.bind(store),
    keepNewest: store.keepNewest.bind(store),
    head: store.head.bind(store),
    close: () => never,
  };
};
