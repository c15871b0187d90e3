import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { StoredChange } from '../testing/fake-catcher.ts';
import { ChainSimulation, steps } from '../testing/chain-simulation.ts';
import { casesOf } from '../../../shared/testing/cases.ts';

const room = fc.integer({ min: 1, max: 12 });
const scenario = fc.record({ before: steps(25), restart: fc.boolean(), during: steps(25), room });
const cases = { numRuns: casesOf(300), endOnFailure: true };

const positionsOf = (changes: readonly StoredChange[]): number[] => changes.map(({ position }) => position);

/** The positions of the newest observations of the records that are not reverted after these changes. */
const canonicalAfter = (changes: readonly StoredChange[]): number[] => {
  const positions = new Map<string, number>();
  for (const { change, record, position } of changes) {
    if (change === 'observed') positions.set(record.Id, position);
    else positions.delete(record.Id);
  }
  return [...positions.values()].sort((left, right) => left - right);
};

/** Returns the position at which history ended and the changes began; `undefined` when there is a gap or a repeat. */
const endOfHistory = (got: readonly number[], changes: readonly StoredChange[]): number | undefined =>
  [0, ...positionsOf(changes)].find((asOf) => {
    const current = canonicalAfter(changes.filter(({ position }) => position <= asOf));
    const later = positionsOf(changes).filter((position) => position > asOf);
    const history = got.slice(0, current.length).sort((left, right) => left - right);
    return JSON.stringify([...history, ...got.slice(current.length)]) === JSON.stringify([...current, ...later]);
  });

describe('a subscription that catches up', () => {
  it('from a block on is sent the records of one moment, then every change, without gap or repeat', async () => {
    const property = fc.asyncProperty(
      scenario,
      fc.nat({ max: 40 }),
      async ({ before, restart, during, room }, fromBlock) => {
        const simulation = await ChainSimulation.after(before, { restart });
        const subscriber = await simulation.feed.subscribe(simulation.contractAddress, { fromBlock }, room);
        await simulation.run(during);
        const got = await simulation.finish(subscriber);
        const wanted = simulation.changes.filter(({ record }) => record.BlockNumber >= fromBlock);
        const changes = wanted.map(({ position, change, record }) => [position, change, record.BlockNumber]);
        expect({ got, changes, endOfHistory: endOfHistory(got, wanted) }).toEqual({
          got,
          changes,
          endOfHistory: expect.any(Number),
        });
        expect(subscriber.emitted.map(({ name }) => name)).toEqual(['live']);
      },
    );
    await fc.assert(property, cases);
  });

  it('from any cursor on is sent what an uninterrupted subscriber is sent after it', async () => {
    const property = fc.asyncProperty(scenario, fc.nat(), fc.boolean(), async (given, pick, ofQuery) => {
      const { before, restart, during, room } = given;
      const simulation = await ChainSimulation.after(before, { restart });
      await simulation.run([{ action: 'observe', count: 1, repeat: 0, ticks: 0 }]);
      await simulation.feed.catcher.publish();
      const { position } = simulation.changes[pick % simulation.changes.length] ?? { position: 0 };
      const cursor = await (ofQuery
        ? simulation.feed.cursorOfQuery(simulation.contractAddress, position)
        : simulation.feed.cursorOf(simulation.contractAddress, position));
      const subscriber = await simulation.feed.subscribe(simulation.contractAddress, { cursor }, room);
      await simulation.run(during);
      expect(await simulation.finish(subscriber)).toEqual(
        positionsOf(simulation.changes).filter((later) => later > position),
      );
      expect(subscriber.emitted.map(({ name }) => name)).toEqual(['live']);
    });
    await fc.assert(property, cases);
  });

  it('from now on is sent every later change once, and no "live"', async () => {
    const property = fc.asyncProperty(scenario, async ({ before, restart, during, room }) => {
      const simulation = await ChainSimulation.after(before, { restart });
      const subscriber = await simulation.feed.subscribe(simulation.contractAddress, {}, room);
      const now = simulation.feed.positionOf(subscriber.answer);
      await simulation.run(during);
      expect(await simulation.finish(subscriber)).toEqual(
        positionsOf(simulation.changes).filter((later) => later > now),
      );
      expect(subscriber.emitted).toEqual([]);
    });
    await fc.assert(property, cases);
  });
});
