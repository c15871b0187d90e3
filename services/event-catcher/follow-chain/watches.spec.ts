import { describe, expect, it } from '@jest/globals';
import { ChainUnavailable, type ChainReader } from '../../../shared/chain/chain-reader.ts';
import type { EventStore, Position } from '../../../shared/event-store/event-store.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { Catching, mineSome, otherContract, transfer } from '../testing/catching.ts';
import { overriding } from '../testing/overriding.ts';
import { Watches } from './watches.ts';

describe('what is registered', () => {
  it('is asked for once, however often the follower starts again, and then only what is new', async () => {
    const catching = new Catching();
    mineSome(catching.chain, 20);
    await catching.register();
    const askedAfter: Position[] = [];
    let reads = 0;
    const store = overriding<EventStore>(catching.store, {
      subscribeAll: (after, filter, signal) => {
        askedAfter.push(after);
        return catching.store.subscribeAll(after, filter, signal);
      },
      readAll: (...args) => {
        reads += 1;
        return catching.store.readAll(...args);
      },
    });
    let isDown = false;
    const reader = overriding<ChainReader>(catching.chain, {
      head: () => (isDown ? Promise.reject(new ChainUnavailable('down')) : catching.chain.head()),
    });
    const loop = catching.start({ store, reader });
    await catching.expectChain();
    const registeredUpTo = (await catching.progress())?.watchesUpTo ?? 0;
    isDown = true;
    const askedBefore = askedAfter.length;
    await eventually(() => loop.lastError === 'down' && catching.starts > 2, 5_000, 'it must start again');
    await catching.extend(0);
    await catching.register({ watchId: 'wch_other', contractAddress: otherContract });
    isDown = false;
    await catching.expectChain();
    await catching.stop();
    expect(reads).toBe(0);
    expect(askedAfter.length).toBeGreaterThan(askedBefore);
    expect(Math.min(...askedAfter.slice(askedBefore))).toBeGreaterThanOrEqual(registeredUpTo);
  });

  it('is known as it was registered after a start that failed to store how far it came with it', async () => {
    const catching = new Catching();
    for (let block = 1; block <= 30; block += 1) catching.chain.mine([transfer(block)]);
    await catching.register({ startBlock: 20 });
    const store = overriding<EventStore>(catching.store, {
      append: (stream, revision, events) => {
        const isExtended = JSON.stringify(events[0]?.data['backfills'] ?? []).includes('"joins":false');
        return isExtended && catching.starts === 1
          ? Promise.reject(new Error('the event store is full'))
          : catching.store.append(stream, revision, events);
      },
    });
    catching.start({ store });
    await catching.expectChain();
    await catching.extend(5);
    await catching.expectChain();
    await catching.stop();
    expect(catching.starts).toBe(2);
  });

  it('is not waited for once the signal has aborted', async () => {
    const { store } = new Catching();
    const watches = new Watches(store, 2484);
    await expect(watches.load(AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
  });
});
