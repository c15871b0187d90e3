import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eventually } from '../../../shared/testing/eventually.ts';
import { aRecord } from '../testing/catcher-stand-in.ts';
import { ChainWorld, steps, type Step } from '../testing/chain-world.ts';
import { inAFewTurns, type MemorySubscriber } from '../testing/feed-under-test.ts';
import { streamUnderTest } from '../testing/stream-under-test.module.ts';

const finality = 'finalized';
const story = fc.record({ before: steps(25), during: steps(25), room: fc.integer({ min: 1, max: 12 }) });
const cases = { numRuns: 300, endOnFailure: true };

/** Looks after every step, as the loop would. */
const takeAndLook = async (world: ChainWorld, steps: readonly Step[]): Promise<void> => {
  for (const step of steps) {
    await world.take([step]);
    await world.feed.lookForFinalized();
  }
};

/** Everything becomes final. */
const settle = async (world: ChainWorld, subscribers: readonly MemorySubscriber[]): Promise<void> => {
  await world.finalizeAll();
  await world.feed.lookForFinalized();
  const last = world.standingPositions.at(-1);
  const isDone = () => subscribers.every(({ buffer }) => buffer.sent.at(-1)?.position === last);
  await inAFewTurns(isDone, 'the last event must arrive');
  await world.feed.close();
};
const positionsOf = ({ buffer }: MemorySubscriber): number[] => buffer.sent.map(({ position }) => position);

describe('the finalized events of a channel', () => {
  it('come once each, in the order of their observation, and nothing comes that a reorganisation removes', async () => {
    const property = fc.asyncProperty(story, fc.nat({ max: 40 }), async ({ before, during, room }, fromBlock) => {
      const world = await ChainWorld.after(before, { restart: false });
      await world.catchUp();
      const everything = await world.feed.subscribe(world.contractAddress, { finality, fromBlock: 0 }, room);
      const some = await world.feed.subscribe(world.contractAddress, { finality, fromBlock }, room);
      const fromNow = await world.feed.subscribe(world.contractAddress, { finality }, room);
      const now = world.feed.positionOf(fromNow.answer);
      await takeAndLook(world, during);
      await settle(world, [everything, some, fromNow]);
      expect(positionsOf(everything)).toEqual(world.standingPositions);
      expect(positionsOf(some)).toEqual(world.currentFrom(fromBlock));
      expect(positionsOf(fromNow)).toEqual(world.standingPositions.filter((position) => position > now));
    });
    await fc.assert(property, cases);
  });

  it('go on after any cursor where they would have gone on', async () => {
    const property = fc.asyncProperty(story, fc.nat(), async ({ before, during, room }, pick) => {
      const world = await ChainWorld.after(before, { restart: false });
      await world.catchUp();
      const everything = await world.feed.subscribe(world.contractAddress, { finality, fromBlock: 0 }, room);
      await takeAndLook(world, during);
      await settle(world, [everything]);
      const given = positionsOf(everything);
      const position = given[pick % given.length] ?? 0;
      const cursor = await world.feed.cursorOf(world.contractAddress, position, finality);
      const resumed = await world.feed.subscribe(world.contractAddress, { finality, cursor }, room);
      await inAFewTurns(() => resumed.told.length > 0, 'the subscription must become live');
      expect(positionsOf(resumed)).toEqual(given.filter((later) => later > position));
    });
    await fc.assert(property, cases);
  });

  it('come over a socket, and say that they are final', async () => {
    await using stream = await streamUnderTest();
    const contractAddress = await stream.registered();
    await stream.catcher.finalize(1);
    await stream.catcher.observe(aRecord({ contractAddress, block: 1 }));
    const client = await stream.connect();
    const { channel } = await client.subscribe(contractAddress, { finality, fromBlock: 0 });
    expect(channel).toMatch(/\/finalized$/);
    await stream.catcher.observe(aRecord({ contractAddress, block: 2 }));
    await client.message('live');
    expect(client.events.map(({ event }) => [event.BlockNumber, event.Status])).toEqual([[1, 'finalized']]);
    await stream.catcher.finalize(2);
    await stream.catcher.project();
    await eventually(() => client.events.length === 2, 2_000, 'the second event must come when its block is final');
    expect(client.events.map(({ change }) => change)).toEqual(['observed', 'observed']);
  });
});
