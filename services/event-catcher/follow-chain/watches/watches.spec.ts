import { describe, expect, it } from '@jest/globals';
import type { EventStore, Position } from '../../../../shared/event-store/event-store.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { transferWatch } from '../../testing/example-watches.ts';
import { FollowerUnderTest, otherContract, transfer } from '../../testing/follower/follower-under-test.ts';
import { downWhile } from '../../testing/follower/faulty-readers.ts';
import { overriding } from '../../testing/overriding.ts';
import { Watches } from './watches.ts';

describe('registrations', () => {
  it('are read once, however often the follower starts again', async () => {
    const follower = new FollowerUnderTest({ blocks: 20 });
    await follower.register();
    const askedAfter: Position[] = [];
    let reads = 0;
    const store = overriding<EventStore>(follower.store, {
      subscribeAll: (after, filter, signal) => {
        askedAfter.push(after);
        return follower.store.subscribeAll(after, filter, signal);
      },
      readAll: (...args) => {
        reads += 1;
        return follower.store.readAll(...args);
      },
    });
    let isDown = false;
    const reader = downWhile(follower.chain, () => isDown);
    const loop = follower.start({ store, reader });
    await follower.expectChain();
    const registeredUpTo = (await follower.progress())?.watchesUpTo ?? 0;
    isDown = true;
    const askedBefore = askedAfter.length;
    await follower.until(() => loop.lastError === 'down' && follower.starts > 2, 'it must start again');
    await follower.extend(0);
    await follower.register({ watchId: 'wch_other', contractAddress: otherContract });
    isDown = false;
    await follower.expectChain();
    await follower.stop();
    expect(reads).toBe(0);
    expect(askedAfter.length).toBeGreaterThan(askedBefore);
    expect(Math.min(...askedAfter.slice(askedBefore))).toBeGreaterThanOrEqual(registeredUpTo);
  });

  it('are applied again after a follower failed to store the progress that contained them', async () => {
    await using follower = new FollowerUnderTest();
    for (let block = 1; block <= 30; block += 1) follower.chain.mine([transfer(block)]);
    await follower.register({ startBlock: 20 });
    const store = overriding<EventStore>(follower.store, {
      append: (stream, revision, events) => {
        const isExtended = JSON.stringify(events[0]?.data['backfills'] ?? []).includes('"joins":false');
        return isExtended && follower.starts === 1
          ? Promise.reject(new Error('the event store is full'))
          : follower.store.append(stream, revision, events);
      },
    });
    await follower.follow({ store });
    await follower.extend(5);
    await follower.expectChain();
    await follower.stop();
    expect(follower.starts).toBe(2);
  });

  it('are not waited for after the signal has aborted', async () => {
    const { store } = new FollowerUnderTest();
    const watches = new Watches(store, 2484);
    await expect(watches.load(AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
  });
});

describe('the watches of a chain', () => {
  const { signal } = new AbortController();
  /** Two watches, the first of which was extended and registered by another app, too; and a watch on another chain. */
  const registered = async () => {
    const follower = new FollowerUnderTest();
    await follower.register({ startBlock: 20 });
    await follower.register({ watchId: 'wch_other', contractAddress: otherContract, startBlock: 7 });
    await follower.extend(5);
    await follower.store.append('watch-elsewhere', -1, [
      anEvent({ type: 'ContractRegistered', data: { ...transferWatch, watchId: 'wch_elsewhere', chainId: 1 } }),
    ]);
    await follower.store.append(`watch-${transferWatch.watchId}`, 1, [
      anEvent({ type: 'ContractRegistered', data: { ...transferWatch, startBlock: 3, appId: 'app_2' } }),
    ]);
    const watches = new Watches(follower.store, 2484);
    await watches.load(signal);
    return { follower, watches };
  };
  const starts = (watches: Watches, watchesUpTo: Position) =>
    Array.from(watches.at({ watchesUpTo }).values(), ({ startBlock }) => startBlock);

  it('are those registered up to a position, with their start blocks at that position', async () => {
    const { watches } = await registered();
    expect([0, 1, 2, 3, 9].map((position) => starts(watches, position))).toEqual([[], [20], [20, 7], [5, 7], [5, 7]]);
    expect(starts(watches, 1)).toEqual([20]);
    expect(starts(watches, 2)).toEqual([20, 7]);
  });

  it('have contracts, whether they were added or not', async () => {
    const { watches } = await registered();
    expect([...watches.contracts]).toEqual([transferWatch.contractAddress.toLowerCase(), otherContract]);
  });

  it('are live if they have no joining range', async () => {
    const { watches } = await registered();
    const joining = { watchId: 'wch_other', from: 7, next: 8, to: 9, joins: true };
    const window = [{ number: 9, hash: '9', parentHash: '8', timestamp: 0, since: 0 }] as const;
    const progress = { window, anchors: [], backfills: [joining], deferred: new Map(), watchesUpTo: 3, position: 0 };
    expect(watches.live(progress).map(({ id }) => id)).toEqual([transferWatch.watchId]);
    expect(watches.get(progress, 'wch_other').startBlock).toBe(7);
    expect(() => watches.get(progress, 'wch_elsewhere')).toThrow('wch_elsewhere, which is not registered');
  });

  it('report the changes after a position: first those already read, then new ones', async () => {
    const { follower, watches } = await registered();
    const changes = watches.changesAfter(2, signal);
    const missed = await changes.next();
    expect(missed.value).toMatchObject({
      changes: [{ type: 'WatchExtended' }, { type: 'ContractRegistered' }],
      upTo: 5,
    });
    await follower.register({ watchId: 'wch_third', contractAddress: otherContract });
    const added = await changes.next();
    expect(added.value).toMatchObject({
      changes: [{ type: 'ContractRegistered', watch: { id: 'wch_third' } }],
      upTo: 6,
    });
    expect((await watches.changesAfter(5, signal).next()).value).toMatchObject({ changes: [{ position: 6 }], upTo: 6 });
    await changes.return(undefined);
  });
});
