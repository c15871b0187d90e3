import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { StoredChange } from '../testing/catcher-stand-in.ts';
import { ChainWorld, steps } from '../testing/chain-world.ts';

const room = fc.integer({ min: 1, max: 12 });
const story = fc.record({ before: steps(25), restart: fc.boolean(), during: steps(25), room });
const cases = { numRuns: 300, endOnFailure: true };

const positionsOf = (changes: readonly StoredChange[]): number[] => changes.map(({ position }) => position);

/** Positions of the observations by which records stand after these changes. */
const standingAfter = (changes: readonly StoredChange[]): number[] => {
  const standing = new Map<string, number>();
  for (const { change, record, position } of changes) {
    if (change === 'observed') standing.set(record.Id, position);
    else standing.delete(record.Id);
  }
  return [...standing.values()].sort((left, right) => left - right);
};

/** The position at which history ended and the changes began; `undefined`: there is a gap or a repeat. */
const seamOf = (got: readonly number[], changes: readonly StoredChange[]): number | undefined =>
  [0, ...positionsOf(changes)].find((asOf) => {
    const past = standingAfter(changes.filter(({ position }) => position <= asOf));
    const future = positionsOf(changes).filter((position) => position > asOf);
    const history = got.slice(0, past.length).sort((left, right) => left - right);
    return JSON.stringify([...history, ...got.slice(past.length)]) === JSON.stringify([...past, ...future]);
  });

describe('catching up', () => {
  it('gives from a block what stood at one moment, each once, and then every change: no gap, no repeat', async () => {
    const property = fc.asyncProperty(
      story,
      fc.nat({ max: 40 }),
      async ({ before, restart, during, room }, fromBlock) => {
        const world = await ChainWorld.after(before, { restart });
        const subscriber = await world.feed.subscribe(world.contractAddress, { fromBlock }, room);
        await world.take(during);
        const got = await world.settle(subscriber);
        const wanted = world.changes.filter(({ record }) => record.BlockNumber >= fromBlock);
        const told = wanted.map(({ position, change, record }) => [position, change, record.BlockNumber]);
        expect({ got, told, seam: seamOf(got, wanted) }).toEqual({ got, told, seam: expect.any(Number) });
        expect(subscriber.told.map(({ name }) => name)).toEqual(['live']);
      },
    );
    await fc.assert(property, cases);
  });

  it('gives from any cursor what a subscriber without a break is given after it', async () => {
    const property = fc.asyncProperty(story, fc.nat(), async ({ before, restart, during, room }, pick) => {
      const world = await ChainWorld.after(before, { restart });
      await world.take([{ deed: 'observe', count: 1, again: 0, turns: 0 }]);
      await world.feed.catcher.publish();
      const { position } = world.changes[pick % world.changes.length] ?? { position: 0 };
      const cursor = await world.feed.cursorOf(world.contractAddress, position);
      const subscriber = await world.feed.subscribe(world.contractAddress, { cursor }, room);
      await world.take(during);
      expect(await world.settle(subscriber)).toEqual(positionsOf(world.changes).filter((later) => later > position));
      expect(subscriber.told.map(({ name }) => name)).toEqual(['live']);
    });
    await fc.assert(property, cases);
  });

  it('gives from now on every later change once, and has nothing to announce', async () => {
    const property = fc.asyncProperty(story, async ({ before, restart, during, room }) => {
      const world = await ChainWorld.after(before, { restart });
      const subscriber = await world.feed.subscribe(world.contractAddress, {}, room);
      const now = world.feed.positionOf(subscriber.answer);
      await world.take(during);
      expect(await world.settle(subscriber)).toEqual(positionsOf(world.changes).filter((later) => later > now));
      expect(subscriber.told).toEqual([]);
    });
    await fc.assert(property, cases);
  });
});
