import { describe, expect, it } from '@jest/globals';
import { ChainUnavailable, type ChainReader } from '../../../shared/chain/chain-reader.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { OutcomeUnknown, WrongExpectedRevision, type EventStore } from '../../../shared/event-store/event-store.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { gated } from '../testing/faulty-readers.ts';
import { cutOffAt } from '../testing/faulty-stores.ts';
import { FollowerUnderTest, mineSome, otherContract, transfer } from '../testing/follower-under-test.ts';
import { overriding } from '../testing/overriding.ts';

const isOfContract = ({ stream }: { stream: string }) => stream.startsWith('chain-2484-0x');
const isProgress = ({ type }: { type: string }) => type === 'ChainAdvanced';

/** Whether the stored progress knows the tip. */
const hasReachedTip = async (follower: FollowerUnderTest) =>
  (await follower.progress())?.window.at(-1)?.hash === follower.chain.tip.hash;

/** What refuses those who followed before. */
const refusals = async ({ store }: FollowerUnderTest) => {
  const { events } = await store.readAll(0, { types: ['FollowerReplaced', 'ChainAdvanced'] }, 10_000);
  return events.filter(({ type, data }) => type === 'FollowerReplaced' || data['repeats'] !== undefined);
};

/** A store to which something comes just before a follower says how far it came. */
const beforeItsProgress = (store: EventStore, come: () => Promise<void>): EventStore =>
  overriding(store, {
    append: async (stream, revision, events) => {
      if (events[0]?.type === 'ChainAdvanced' && events[0].data['repeats'] === undefined) await come();
      return store.append(stream, revision, events);
    },
  });

/** Forty blocks, and a watch for what they hold. */
const registered = async () => {
  const follower = new FollowerUnderTest();
  mineSome(follower.chain, 40);
  await follower.register();
  return follower;
};

/**
 * Is cut off from the event store at the first append so chosen, and told to stop; another may take over from here on.
 * @returns releases what it has under way
 */
const cutOff = async (
  follower: FollowerUnderTest,
  isFirst: Parameters<typeof cutOffAt>[1],
  live = () => Promise.resolve(),
) => {
  const cut = cutOffAt(follower.store, isFirst);
  const loop = follower.start({ store: cut.store });
  await live();
  await eventually(cut.isCutOff, 15_000, 'it must have something under way');
  const stopped = loop.stop();
  return () => {
    cut.release();
    return stopped;
  };
};

/** The same, but not before it has caught up and something was done then. */
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

describe('an append of a follower that another took over from', () => {
  it('that comes before the other has read the same blocks is stored once', async () => {
    const follower = await registered();
    const release = await cutOff(follower, isOfContract);
    const { reader, open } = gated(follower.chain);
    const second = follower.start({ reader });
    await eventually(() => second.state === 'running', 15_000, 'the second must take over');
    await release();
    follower.chain.mine([]);
    await eventually(() => hasReachedTip(follower), 15_000, 'the second must store how far it has come');
    open();
    await follower.expectChain();
    await follower.stop();
  });

  it('of a block that was reorganised away is reverted or refused', async () => {
    const follower = await registered();
    const release = await cutOffWhileLive(follower, isOfContract, () => follower.chain.mine([transfer(777)]));
    follower.chain.rollBack(1);
    // Nothing of the contract: its stream stays as it is.
    for (let block = 0; block < 2; block += 1) follower.chain.mine([]);
    const second = follower.start();
    await eventually(() => second.state === 'running', 15_000, 'the second must take over');
    await follower.expectChain();
    await release();
    for (let block = 0; block < 10; block += 1) follower.chain.mine([]);
    await follower.expectChain();
    await follower.stop();
  });

  it('that says how far it came does not hide what the other has stored', async () => {
    const follower = await registered();
    const release = await cutOffWhileLive(follower, isProgress, () => follower.chain.mine([]));
    follower.chain.mine([transfer(777)]);
    follower.start({ store: beforeItsProgress(follower.store, release) });
    await follower.expectChain();
    await follower.stop();
  });

  it('that says how far it came for the first time is refused, too', async () => {
    const follower = await registered();
    const release = await cutOff(follower, isProgress);
    follower.start({ store: beforeItsProgress(follower.store, release) });
    await follower.expectChain();
    await follower.stop();
    expect(follower.starts).toBe(2);
  });
});

describe('an append whose outcome its own process does not learn', () => {
  it('is refused when it comes after the next start', async () => {
    const follower = await registered();
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
    follower.start({ store: closing });
    await follower.expectChain();
    isAway = true;
    follower.chain.mine([transfer(777)]);
    await eventually(() => delayed !== undefined, 15_000, 'it must have something under way');
    follower.chain.rollBack(1);
    // Nothing of the contract: its stream stays as it is.
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
  it('that was handed over to refuses nobody, nor does one that starts again because of its provider', async () => {
    const follower = await registered();
    let isDown = false;
    const reader = overriding<ChainReader>(follower.chain, {
      head: () => (isDown ? Promise.reject(new ChainUnavailable('down')) : follower.chain.head()),
    });
    follower.start({ reader });
    await follower.expectChain();
    isDown = true;
    await eventually(() => follower.starts > 2, 5_000, 'it must start again');
    isDown = false;
    await follower.expectChain();
    await follower.stop();
    mineSome(follower.chain, 5, 1_000);
    follower.start();
    await follower.expectChain();
    await follower.stop();
    expect(await refusals(follower)).toEqual([]);
  });

  it('that was not refuses whoever was before it once in each stream, also in those that hold nothing', async () => {
    const follower = await registered();
    await follower.register({ watchId: 'wch_other', contractAddress: otherContract });
    follower.nothingInFlightBefore = false;
    follower.start();
    await follower.expectChain();
    await follower.stop();
    const streams = [
      'chain-2484',
      ...[...follower.registered.values()].map(({ contractAddress }) => `chain-2484-${contractAddress.toLowerCase()}`),
    ];
    const told = async () => (await refusals(follower)).map(({ stream }) => stream).sort();
    // Of the chain itself only the newest is kept.
    expect(await told()).toEqual(streams.slice(1).sort());
    follower.nothingInFlightBefore = false;
    follower.start({
      reader: overriding<ChainReader>(follower.chain, { head: () => Promise.reject(new ChainUnavailable('down')) }),
    });
    await eventually(() => follower.starts > 3, 5_000, 'it must start again');
    await follower.stop();
    expect(await told()).toEqual([...streams, ...streams.slice(1)].sort());
  });

  it('that ends before it has refused all who were before it hands over to nobody', async () => {
    const follower = await registered();
    follower.nothingInFlightBefore = false;
    const release = await cutOff(follower, ({ type }) => type === 'FollowerReplaced');
    await release();
    expect(follower.nothingInFlightBefore).toBe(false);
  });
});
