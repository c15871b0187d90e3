import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chainEventsStream } from '../../../schemas/events/event-catcher/chain-events.ts';
import type { Change } from '../../../schemas/socket/stream-messages.ts';
import { aRecord, CHAIN_ID, newContract } from '../testing/fake-catcher.ts';
import { feedUnderTest, MemoryBuffer, MemorySubscriber, withinTicks } from '../testing/feed-under-test.ts';
import { TruncatedBus } from '../testing/truncated-bus.ts';

const EVENTS = 600;
const KEPT = 100;

describe('a cursor that is older than the topic', () => {
  let contractAddress: string;
  let stream: string;
  let messageBus: TruncatedBus;
  let feed: Awaited<ReturnType<typeof feedUnderTest>>;
  /** The positions of the events of the channel. */
  let positions: number[];
  let users: number;
  beforeEach(async () => {
    contractAddress = newContract();
    stream = chainEventsStream(CHAIN_ID, contractAddress);
    messageBus = new TruncatedBus();
    feed = await feedUnderTest({ messageBus });
    await feed.catcher.register(contractAddress);
    [positions, users] = [[], 0];
  });
  afterEach(() => feed.close());

  /** Stores an event in the event store too, where events of other streams lie between those of the contract. */
  const store = async (
    block: number,
    { change = 'observed', signature = 'Transfer' }: { change?: Change; signature?: string } = {},
  ) => {
    const isOther = signature !== 'Transfer';
    const record = aRecord({ contractAddress, block, ...(isOther && { signature }) });
    feed.clock.time += 10;
    const position = await feed.store(change, record);
    if (block % 3 === 0) await feed.storeElsewhere();
    if (!isOther) positions.push(position);
  };
  /** Stores events, one in seven reverted and one in five of another channel, and publishes them. */
  const storeMany = async () => {
    for (let block = 0; block < EVENTS; block += 1) {
      await store(block, block % 5 === 0 ? { signature: 'Other(uint256)' } : {});
      if (block % 7 === 1) await store(block, { change: 'reverted' });
    }
    await feed.catcher.project();
    await feed.catcher.publish();
  };
  const truncate = async ({ kept }: { kept: number }) => {
    messageBus.keptFrom = feed.catcher.stored.length - kept;
    feed.clock.time += 3_600_000;
    await feed.restart();
  };
  const resumeWith = async (cursor: string | undefined, room = 10_000) => {
    users += 1;
    const subscriber = new MemorySubscriber(new MemoryBuffer(room), `user:${String(users)}`);
    await feed.subscribe(contractAddress, { cursor }, room, subscriber);
    return subscriber;
  };
  const resume = async (position = 0, room?: number) =>
    resumeWith(await feed.cursorOf(contractAddress, position), room);
  const caughtUp = async (subscriber: MemorySubscriber) => {
    await withinTicks(() => subscriber.emitted.some(({ name }) => name !== 'gap'), 'the client must catch up');
    return subscriber.buffer.sent.map(({ position }) => position);
  };
  const emittedTo = ({ emitted }: MemorySubscriber) => emitted.map(({ name }) => name);

  it('is followed by exactly what an uninterrupted client was sent, read once for all', async () => {
    await storeMany();
    const early = positions[200];
    const uninterrupted = await resume(early);
    await caughtUp(uninterrupted);
    await truncate({ kept: KEPT });
    let reads = 0;
    const { eventStore } = feed;
    const read = eventStore.read.bind(eventStore);
    eventStore.read = (...asked) => {
      if (asked[0] === stream) reads += 1;
      return read(...asked);
    };
    for (const [at, position] of positions.entries()) {
      if (at % 20 === 0) expect([at, await caughtUp(await resume(position))]).toEqual([at, positions.slice(at + 1)]);
    }
    const again = await resume(early);
    await caughtUp(again);
    expect(again.buffer.sent).toEqual(uninterrupted.buffer.sent);
    expect(emittedTo(again)).toEqual(['live']);
    // Without sharing, each of some thirty clients would read ten times.
    expect(reads).toBeLessThan(30);
  });

  it('resumes also where the topic has nothing left, and goes on with what is published then', async () => {
    await storeMany();
    await truncate({ kept: 0 });
    const resumed = await resume(positions[3]);
    expect(await caughtUp(resumed)).toEqual(positions.slice(4));
    const fromNow = await resumeWith(undefined);
    await store(9_001);
    await store(9_002);
    await feed.catcher.publish();
    await withinTicks(() => fromNow.buffer.sent.length === 2, 'the new events must be sent');
    expect(await caughtUp(resumed)).toEqual(positions.slice(4));
    await feed.restart();
    expect(await caughtUp(await resumeWith(fromNow.answer?.cursor))).toEqual(positions.slice(-2));
    expect(await caughtUp(await resume(positions[3]))).toEqual(positions.slice(4));
  });

  it('is counted by what it was caught up from', async () => {
    await storeMany();
    await truncate({ kept: KEPT });
    for (const position of [positions[3], positions.at(-3)]) await caughtUp(await resume(position));
    await store(9_001);
    await feed.catcher.publish();
    await caughtUp(await resume(positions.at(-2)));
    expect(await feed.resumes()).toEqual({ event_store: 1, bus: 1, memory: 1 });
  });

  it('resumes when messages are deleted while a slow client reads them', async () => {
    await storeMany();
    await truncate({ kept: feed.catcher.stored.length });
    const slow = await resume(positions[3], 4);
    await withinTicks(() => slow.buffer.sent.length > 0, 'the first event must be sent');
    messageBus.keptFrom = feed.catcher.stored.length - 1;
    expect(await caughtUp(slow)).toEqual(positions.slice(4));
    expect(emittedTo(slow)).toEqual(['live']);
  });

  it('is answered with a gap where the stream of the contract is truncated too, and the gap with what there is', async () => {
    await feed.eventStore.keepNewest(stream, 2 * KEPT);
    await storeMany();
    const { length } = feed.catcher.stored;
    await truncate({ kept: KEPT });
    const lost = await resume(positions[3]);
    const kept = feed.catcher.stored.slice(length - KEPT).map(({ position }) => position);
    expect(await caughtUp(lost)).toEqual(positions.filter((position) => position >= (kept[0] ?? 0)));
    expect(lost.emitted[0]).toMatchObject({ name: 'gap', after: 0 });
    const { resumeWith: cursor } = lost.emitted[0]?.message as { resumeWith: string };
    const resumed = await resumeWith(cursor);
    expect([await caughtUp(resumed), emittedTo(resumed)]).toEqual([await caughtUp(lost), ['live']]);
    expect(emittedTo(await resume(feed.catcher.stored[length - 2 * KEPT]?.position))).not.toContain('gap');
  });

  it('is answered with one gap, and not with another for what the gap says, where nothing at all is left', async () => {
    for (let block = 0; block < 5; block += 1) {
      const { position } = feed.catcher.store('observed', aRecord({ contractAddress, block }));
      positions.push(position);
    }
    await feed.catcher.project();
    await feed.catcher.publish();
    await truncate({ kept: 0 });
    const lost = await resume(positions[2]);
    await caughtUp(lost);
    expect(emittedTo(lost)).toEqual(['gap', 'live']);
    const { resumeWith: cursor } = lost.emitted[0]?.message as { resumeWith: string };
    const resumed = await resumeWith(cursor);
    await caughtUp(resumed);
    expect(emittedTo(resumed)).toEqual(['live']);
  });

  it('ends the subscription when messages are deleted while they are read, and are nowhere else', async () => {
    for (let block = 0; block < EVENTS; block += 1) {
      positions.push(feed.catcher.store('observed', aRecord({ contractAddress, block })).position);
    }
    await feed.catcher.project();
    await feed.catcher.publish();
    await truncate({ kept: EVENTS });
    const slow = await resume(positions[0], 4);
    await withinTicks(() => slow.buffer.sent.length > 0, 'the first event must be sent');
    messageBus.keptFrom = EVENTS - 1;
    const sent = await caughtUp(slow);
    expect(sent).toEqual(positions.slice(1, 1 + sent.length));
  });
});
