import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { aRecord } from '../../testing/fake-catcher.ts';
import { ChainSimulation, steps, type Step } from '../../testing/chain-simulation.ts';
import { withinTicks, type MemorySubscriber } from '../../testing/feed-under-test.ts';
import { streamUnderTest } from '../../testing/stream-under-test.module.ts';
import { casesOf } from '../../../../shared/testing/cases.ts';

const finality = 'finalized';
const scenario = fc.record({ before: steps(25), during: steps(25), room: fc.integer({ min: 1, max: 12 }) });
const cases = { numRuns: casesOf(300), endOnFailure: true };

/** Offers newly finalized events after every step, as the loop would. */
const runAndOffer = async (simulation: ChainSimulation, steps: readonly Step[]): Promise<void> => {
  for (const step of steps) {
    await simulation.run([step]);
    await simulation.feed.offerNewlyFinalized();
  }
};

/** Finalizes everything, and closes the feed when every subscriber has the last event. */
const finalizeAndFinish = async (
  simulation: ChainSimulation,
  subscribers: readonly MemorySubscriber[],
): Promise<void> => {
  await simulation.finalizeAll();
  await simulation.feed.offerNewlyFinalized();
  const last = simulation.canonicalPositions.at(-1);
  const isDone = () => subscribers.every(({ buffer }) => buffer.sent.at(-1)?.position === last);
  await withinTicks(isDone, 'every subscriber must be sent the last event');
  await simulation.feed.close();
};
const positionsOf = ({ buffer }: MemorySubscriber): number[] => buffer.sent.map(({ position }) => position);

describe('the finalized events of a channel', () => {
  it('are sent once each, in the order of observation, without those that a reorganisation removes', async () => {
    const property = fc.asyncProperty(scenario, fc.nat({ max: 40 }), async ({ before, during, room }, fromBlock) => {
      const simulation = await ChainSimulation.after(before, { restart: false });
      await simulation.catchUp();
      const everything = await simulation.feed.subscribe(simulation.contractAddress, { finality, fromBlock: 0 }, room);
      const some = await simulation.feed.subscribe(simulation.contractAddress, { finality, fromBlock }, room);
      const fromNow = await simulation.feed.subscribe(simulation.contractAddress, { finality }, room);
      const now = simulation.feed.positionOf(fromNow.answer);
      await runAndOffer(simulation, during);
      await finalizeAndFinish(simulation, [everything, some, fromNow]);
      expect(positionsOf(everything)).toEqual(simulation.canonicalPositions);
      expect(positionsOf(some)).toEqual(simulation.canonicalPositionsFrom(fromBlock));
      expect(positionsOf(fromNow)).toEqual(simulation.canonicalPositions.filter((position) => position > now));
    });
    await fc.assert(property, cases);
  });

  it('are sent after any cursor as they would have been without interruption', async () => {
    const property = fc.asyncProperty(scenario, fc.nat(), async ({ before, during, room }, pick) => {
      const simulation = await ChainSimulation.after(before, { restart: false });
      await simulation.catchUp();
      const everything = await simulation.feed.subscribe(simulation.contractAddress, { finality, fromBlock: 0 }, room);
      await runAndOffer(simulation, during);
      await finalizeAndFinish(simulation, [everything]);
      const sent = positionsOf(everything);
      const position = sent[pick % sent.length] ?? 0;
      const cursor = await simulation.feed.cursorOf(simulation.contractAddress, position, finality);
      const resumed = await simulation.feed.subscribe(simulation.contractAddress, { finality, cursor }, room);
      await withinTicks(() => resumed.emitted.length > 0, 'the subscription must become live');
      expect(positionsOf(resumed)).toEqual(sent.filter((later) => later > position));
    });
    await fc.assert(property, cases);
  });

  it('are sent over a socket with the status finalized', async () => {
    await using stream = await streamUnderTest();
    const contractAddress = await stream.registerContract();
    await stream.catcher.finalize(1);
    await stream.catcher.observe(aRecord({ contractAddress, block: 1 }));
    const client = await stream.connect();
    const { channel } = await client.subscribe(contractAddress, { finality, fromBlock: 0 });
    expect(channel).toMatch(/\/finalized$/);
    await stream.catcher.observe(aRecord({ contractAddress, block: 2 }));
    await client.waitForMessage('live');
    expect(client.events.map(({ event }) => [event.BlockNumber, event.Status])).toEqual([[1, 'finalized']]);
    await stream.catcher.finalize(2);
    await stream.catcher.project();
    await eventually(() => client.events.length === 2, 2_000, 'the second event must be sent when its block is final');
    expect(client.events.map(({ change }) => change)).toEqual(['observed', 'observed']);
  });
});
