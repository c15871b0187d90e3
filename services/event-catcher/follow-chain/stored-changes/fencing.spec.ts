import { describe, expect, it } from '@jest/globals';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { OutcomeUnknown, WrongExpectedRevision, type EventStore } from '../../../../shared/event-store/event-store.ts';
import { downWhile, gated } from '../../testing/follower/faulty-readers.ts';
import { cutOffAt } from '../../testing/follower/faulty-stores.ts';
import { FollowerUnderTest, mineSome, otherContract, transfer } from '../../testing/follower/follower-under-test.ts';
import { overriding } from '../../testing/overriding.ts';

const isOfContract = ({ stream }: { stream: string }) => stream.startsWith('chain-2484-0x');
const isProgress = ({ type }: { type: string }) => type === 'ChainAdvanced';

/** Whether the stored progress contains the tip. */
const hasReachedTip = async (follower: FollowerUnderTest) =>
  (await follower.progress())?.window.at(-1)?.hash === follower.chain.tip.hash;

/** The events that were appended to fence off earlier followers. */
const fences = async ({ store }: FollowerUnderTest) => {
  const { events } = await store.readAll(0, { types: ['FollowerReplaced', 'ChainAdvanced'] }, 10_000);
  return events.filter(({ type, data }) => type === 'FollowerReplaced' || data['repeats'] !== undefined);
};

/** A store on which something happens just before a follower's progress is appended. */
const beforeProgress = (store: EventStore, act: () => Promise<void>): EventStore =>
  overriding(store, {
    append: async (stream, revision, events) => {
      if (events[0]?.type === 'ChainAdvanced' && events[0].data['repeats'] === undefined) await act();
      return store.append(stream, revision, events);
    },
  });

/** A chain of forty blocks, and a watch that has events in them. */
const registered = async () => {
  const follower = new FollowerUnderTest({ blocks: 40 });
  await follower.register();
  return follower;
};

/**
 * Starts a follower, cuts it off from the event store at the first matching append, and stops it. Another follower may
 * take over from here on.
 * @returns a function that releases the appends in flight
 */
const cutOff = async (
  follower: FollowerUnderTest,
  isFirst: Parameters<typeof cutOffAt>[1],
  live = () => Promise.resolve(),
) => {
  const cut = cutOffAt(follower.store, isFirst);
  const loop = follower.start({ store: cut.store });
  await live();
  await follower.until(cut.isCutOff, 'it must have an append in flight');
  const stopped = loop.stop();
  return () => {
    cut.release();
    return stopped;
  };
};

/** Does the same, but only after the follower has caught up and `act` has run. */
const cutOffWhileLive = (follower: FollowerUnderTest, isFirst: Parameters<typeof cutOffAt>[1], act: () => void) => {
  let isFollowed = false;
  return cutOff(
    follower,
    (append) => isFollowed && isFirst(append),
    async () => {
      await follower.expectChain();
      isFollowed = true;
      act();
    },
  );
};

describe('an append of a follower that was replaced', () => {
  it('is stored once if it comes before the new follower has read the same blocks', async () => {
    await using follower = await registered();
    const release = await cutOff(follower, isOfContract);
    const { reader, open } = gated(follower.chain);
    const second = follower.start({ reader });
    await follower.until(() => second.state === 'running', 'the second must take over');
    await release();
    follower.chain.mine([]);
    await follower.until(() => hasReachedTip(follower), 'the second must store its progress');
    open();
    await follower.expectChain();
  });

  it('is reverted or refused if its block was reorganised away', async () => {
    await using follower = await registered();
    const release = await cutOffWhileLive(follower, isOfContract, () => follower.chain.mine([transfer(777)]));
    follower.chain.rollBack(1);
    // These blocks have no events of the contract, so its stream stays as it is.
    for (let block = 0; block < 2; block += 1) follower.chain.mine([]);
    const second = follower.start();
    await follower.until(() => second.state === 'running', 'the second must take over');
    await follower.expectChain();
    await release();
    for (let block = 0; block < 10; block += 1) follower.chain.mine([]);
    await follower.expectChain();
  });

  it('does not hide records of the new follower if it is progress', async () => {
    await using follower = await registered();
    const release = await cutOffWhileLive(follower, isProgress, () => follower.chain.mine([]));
    follower.chain.mine([transfer(777)]);
    await follower.follow({ store: beforeProgress(follower.store, release) });
  });

  it('is refused, too, if it is the first progress of the chain', async () => {
    await using follower = await registered();
    const release = await cutOff(follower, isProgress);
    await follower.follow({ store: beforeProgress(follower.store, release) });
    await follower.stop();
    expect(follower.starts).toBe(2);
  });
});

describe('an append whose outcome is unknown to its own process', () => {
  it('is refused if it comes after the next start', async () => {
    await using follower = await registered();
    let isAway = false;
    let delayed: (() => Promise<unknown>) | undefined;
    const store = overriding<EventStore>(follower.store, {
      append: (stream, revision, events) => {
        if (!isAway || delayed || !isOfContract({ stream })) return follower.store.append(stream, revision, events);
        delayed = () => follower.store.append(stream, revision, events);
        isAway = false;
        return Promise.reject(new OutcomeUnknown('no answer'));
      },
    });
    const closing = overriding<EventStore>(store, {
      append: (stream, revision, events) =>
        delayed && follower.starts === 1
          ? Promise.reject(new Refusal('shutting_down', 'the connection is closed'))
          : store.append(stream, revision, events),
    });
    await follower.follow({ store: closing });
    isAway = true;
    follower.chain.mine([transfer(777)]);
    await follower.until(() => delayed !== undefined, 'it must have an append in flight');
    follower.chain.rollBack(1);
    // These blocks have no events of the contract, so its stream stays as it is.
    for (let block = 0; block < 2; block += 1) follower.chain.mine([]);
    await follower.expectChain();
    await expect(delayed?.()).rejects.toBeInstanceOf(WrongExpectedRevision);
    mineSome(follower.chain, 10, 1_000);
    await follower.expectChain();
    await follower.stop();
    expect(follower.starts).toBe(2);
  });
});

describe('a follower', () => {
  it('fences nothing if nothing is in flight, nor if it starts again because of its provider', async () => {
    await using follower = await registered();
    let isDown = false;
    const reader = downWhile(follower.chain, () => isDown);
    await follower.follow({ reader });
    isDown = true;
    await follower.until(() => follower.starts > 2, 'it must start again');
    isDown = false;
    await follower.expectChain();
    await follower.stop();
    mineSome(follower.chain, 5, 1_000);
    await follower.follow();
    await follower.stop();
    expect(await fences(follower)).toEqual([]);
  });

  it('fences every stream once if something may be in flight, including empty streams', async () => {
    await using follower = await registered();
    await follower.register({ watchId: 'wch_other', contractAddress: otherContract });
    follower.nothingInFlightBefore = false;
    await follower.follow();
    await follower.stop();
    const streams = [
      'chain-2484',
      'chain-2484-aside',
      ...[...follower.registered.values()].map(({ contractAddress }) => `chain-2484-${contractAddress.toLowerCase()}`),
    ];
    const fencedStreams = async () => (await fences(follower)).map(({ stream }) => stream).sort();
    // The stream of the chain keeps only its newest event.
    expect(await fencedStreams()).toEqual(streams.slice(1).sort());
    follower.nothingInFlightBefore = false;
    follower.start({ reader: downWhile(follower.chain, () => true) });
    await follower.until(() => follower.starts > 3, 'it must start again');
    await follower.stop();
    expect(await fencedStreams()).toEqual([...streams, ...streams.slice(1)].sort());
  });

  it('leaves something in flight if it ends before it has fenced every stream', async () => {
    await using follower = await registered();
    follower.nothingInFlightBefore = false;
    const release = await cutOff(follower, ({ type }) => type === 'FollowerReplaced');
    await release();
    expect(follower.nothingInFlightBefore).toBe(false);
  });
});
