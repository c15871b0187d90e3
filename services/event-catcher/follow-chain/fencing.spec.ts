import { describe, expect, it } from '@jest/globals';
import { ChainUnavailable, type ChainReader } from '../../../shared/chain/chain-reader.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { OutcomeUnknown, WrongExpectedRevision, type EventStore } from '../../../shared/event-store/event-store.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { closed } from '../testing/awkward-readers.ts';
import { cutOffAt } from '../testing/awkward-stores.ts';
import { Catching, mineSome, otherContract, transfer } from '../testing/catching.ts';
import { overriding } from '../testing/overriding.ts';

const isOfContract = ({ stream }: { stream: string }) => stream.startsWith('chain-2484-0x');
const isProgress = ({ type }: { type: string }) => type === 'ChainAdvanced';

/** Whether the stored progress knows the tip. */
const hasReachedTip = async (catching: Catching) =>
  (await catching.progress())?.window.at(-1)?.hash === catching.chain.tip.hash;

/** What refuses those who followed before. */
const refusals = async ({ store }: Catching) => {
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
  const catching = new Catching();
  mineSome(catching.chain, 40);
  await catching.register();
  return catching;
};

/**
 * Is cut off from the event store at the first append so chosen, and told to stop; another may take over from here on.
 * @returns releases what it has under way
 */
const cutOff = async (catching: Catching, isFirst: Parameters<typeof cutOffAt>[1], live = () => Promise.resolve()) => {
  const cut = cutOffAt(catching.store, isFirst);
  const loop = catching.start({ store: cut.store });
  await live();
  await eventually(cut.isCutOff, 15_000, 'it must have something under way');
  const stopped = loop.stop();
  return () => {
    cut.release();
    return stopped;
  };
};

/** The same, but not before it has caught up and something was done then. */
const cutOffWhileLive = (catching: Catching, isFirst: Parameters<typeof cutOffAt>[1], act: () => void) => {
  let isFollowed = false;
  return cutOff(
    catching,
    (append) => isFollowed && isFirst(append),
    async () => {
      await catching.expectChain();
      isFollowed = true;
      act();
    },
  );
};

describe('an append of a follower that another took over from', () => {
  it('that comes before the other has read the same blocks is stored once', async () => {
    const catching = await registered();
    const release = await cutOff(catching, isOfContract);
    const { reader, open } = closed(catching.chain);
    const second = catching.start({ reader });
    await eventually(() => second.state === 'running', 15_000, 'the second must take over');
    await release();
    catching.chain.mine([]);
    await eventually(() => hasReachedTip(catching), 15_000, 'the second must store how far it has come');
    open();
    await catching.expectChain();
    await catching.stop();
  });

  it('of a block that was reorganised away is reverted or refused', async () => {
    const catching = await registered();
    const release = await cutOffWhileLive(catching, isOfContract, () => catching.chain.mine([transfer(777)]));
    catching.chain.takeBack(1);
    // Nothing of the contract: its stream stays as it is.
    for (let block = 0; block < 2; block += 1) catching.chain.mine([]);
    const second = catching.start();
    await eventually(() => second.state === 'running', 15_000, 'the second must take over');
    await catching.expectChain();
    await release();
    for (let block = 0; block < 10; block += 1) catching.chain.mine([]);
    await catching.expectChain();
    await catching.stop();
  });

  it('that says how far it came does not hide what the other has stored', async () => {
    const catching = await registered();
    const release = await cutOffWhileLive(catching, isProgress, () => catching.chain.mine([]));
    catching.chain.mine([transfer(777)]);
    catching.start({ store: beforeItsProgress(catching.store, release) });
    await catching.expectChain();
    await catching.stop();
  });

  it('that says how far it came for the first time is refused, too', async () => {
    const catching = await registered();
    const release = await cutOff(catching, isProgress);
    catching.start({ store: beforeItsProgress(catching.store, release) });
    await catching.expectChain();
    await catching.stop();
    expect(catching.starts).toBe(2);
  });
});

describe('an append whose outcome its own process does not learn', () => {
  it('is refused when it comes after the next start', async () => {
    const catching = await registered();
    let isAway = false;
    let delayed: (() => Promise<unknown>) | undefined;
    const store = overriding<EventStore>(catching.store, {
      append: (stream, revision, events) => {
        if (!isAway || delayed || !isOfContract({ stream })) return catching.store.append(stream, revision, events);
        delayed = () => catching.store.append(stream, revision, events);
        isAway = false;
        return Promise.reject(new OutcomeUnknown('no answer'));
      },
    });
    const closing = overriding<EventStore>(store, {
      append: (stream, revision, events) =>
        delayed && catching.starts === 1
          ? Promise.reject(new Refusal('shutting_down', 'the connection is closed'))
          : store.append(stream, revision, events),
    });
    catching.start({ store: closing });
    await catching.expectChain();
    isAway = true;
    catching.chain.mine([transfer(777)]);
    await eventually(() => delayed !== undefined, 15_000, 'it must have something under way');
    catching.chain.takeBack(1);
    // Nothing of the contract: its stream stays as it is.
    for (let block = 0; block < 2; block += 1) catching.chain.mine([]);
    await catching.expectChain();
    await expect(delayed?.()).rejects.toBeInstanceOf(WrongExpectedRevision);
    mineSome(catching.chain, 10, 1_000);
    await catching.expectChain();
    await catching.stop();
    expect(catching.starts).toBe(2);
  });
});

describe('a follower', () => {
  it('that was handed over to refuses nobody, nor does one that starts again because of its provider', async () => {
    const catching = await registered();
    let isDown = false;
    const reader = overriding<ChainReader>(catching.chain, {
      head: () => (isDown ? Promise.reject(new ChainUnavailable('down')) : catching.chain.head()),
    });
    catching.start({ reader });
    await catching.expectChain();
    isDown = true;
    await eventually(() => catching.starts > 2, 5_000, 'it must start again');
    isDown = false;
    await catching.expectChain();
    await catching.stop();
    mineSome(catching.chain, 5, 1_000);
    catching.start();
    await catching.expectChain();
    await catching.stop();
    expect(await refusals(catching)).toEqual([]);
  });

  it('that was not refuses whoever was before it once in each stream, also in those that hold nothing', async () => {
    const catching = await registered();
    await catching.register({ watchId: 'wch_other', contractAddress: otherContract });
    catching.nothingInFlightBefore = false;
    catching.start();
    await catching.expectChain();
    await catching.stop();
    const streams = [
      'chain-2484',
      ...[...catching.registered.values()].map(({ contractAddress }) => `chain-2484-${contractAddress.toLowerCase()}`),
    ];
    const told = async () => (await refusals(catching)).map(({ stream }) => stream).sort();
    // Of the chain itself only the newest is kept.
    expect(await told()).toEqual(streams.slice(1).sort());
    catching.nothingInFlightBefore = false;
    catching.start({
      reader: overriding<ChainReader>(catching.chain, { head: () => Promise.reject(new ChainUnavailable('down')) }),
    });
    await eventually(() => catching.starts > 3, 5_000, 'it must start again');
    await catching.stop();
    expect(await told()).toEqual([...streams, ...streams.slice(1)].sort());
  });

  it('that ends before it has refused all who were before it hands over to nobody', async () => {
    const catching = await registered();
    catching.nothingInFlightBefore = false;
    const release = await cutOff(catching, ({ type }) => type === 'FollowerReplaced');
    await release();
    expect(catching.nothingInFlightBefore).toBe(false);
  });
});
