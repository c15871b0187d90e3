import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { logPlaces } from '../../read-models/transparency-log.ts';
import { MemoryEventStore } from '../../testing/engines/event-store.memory.ts';
import { MemoryReadStore } from '../../testing/engines/read-store.memory.ts';
import { anEvent } from '../../testing/event-builder.ts';
import { EventTimes } from './event-times.ts';

const BEGIN = 1_700_000_000_000;

/** Counts the events that are read. */
class CountedEvents extends MemoryEventStore {
  eventsRead = 0;

  override async readAll(...args: Parameters<MemoryEventStore['readAll']>) {
    const batch = await super.readAll(...args);
    this.eventsRead += batch.events.length;
    return batch;
  }
}

/** Stores events of these times, and a place at every so many of them, as the transparency log does. */
const given = async (times: readonly number[], placeEvery: number) => {
  const eventStore = new CountedEvents();
  const readStore = new MemoryReadStore();
  await readStore.define([logPlaces]);
  const { position } = await eventStore.append('user-1', -1, [anEvent({ time: times[0] ?? 0 })]);
  await eventStore.append(
    'user-1',
    0,
    times.slice(1).map((time) => anEvent({ time })),
  );
  const places = times.flatMap((_, at) =>
    at % placeEvery === 0
      ? [{ collection: logPlaces.name, id: String(at / placeEvery), position, document: { from: position + at } }]
      : [],
  );
  await readStore.apply('log-v1', places, position);
  return { eventStore, first: position, eventTimes: new EventTimes({ eventStore, readStore }) };
};

describe('the position of a time', () => {
  it('is that of the last event that is not later, and the time of a position that of its event', async () => {
    const { eventTimes, first } = await given([BEGIN, BEGIN + 10, BEGIN + 10, BEGIN + 30], 2);
    const positions = [BEGIN - 1, BEGIN, BEGIN + 9, BEGIN + 10, BEGIN + 29, BEGIN + 30, BEGIN + 99];
    const found = await Promise.all(positions.map((time) => eventTimes.lastUpTo(time)));
    expect(found).toEqual([0, first, first, first + 2, first + 2, first + 3, first + 3]);
    const times = await Promise.all([0, first, first + 2, first + 3].map((at) => eventTimes.timeAt(at)));
    expect(times).toEqual([0, BEGIN, BEGIN + 10, BEGIN + 30]);
  });

  it('is right for clocks that differ, and wherever the log has its places', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ step: fc.nat(400), late: fc.nat(900) }), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        fc.nat(60),
        async (steps, placeEvery, at) => {
          let now = BEGIN;
          const times = steps.map(({ step, late }) => (now += step) - late);
          const { eventTimes, first } = await given(times, placeEvery);
          const asked = (times[at % times.length] ?? 0) + (at % 3) - 1;
          const last = times.findLastIndex((time) => time <= asked);
          expect(await eventTimes.lastUpTo(asked)).toBe(last === -1 ? 0 : first + last);
        },
      ),
    ));

  it('takes few reads, however many events there are', async () => {
    const times = Array.from({ length: 50_000 }, (_, at) => BEGIN + at * 1_000);
    const { eventTimes, eventStore, first } = await given(times, 256);
    expect(await eventTimes.lastUpTo(BEGIN + 33_333_999)).toBe(first + 33_333);
    expect(await eventTimes.timeAt(first + 44_444)).toBe(BEGIN + 44_444_000);
    expect(eventStore.eventsRead).toBeLessThan(900);
  });

  it('is not searched for among more events than the log can have between two places', async () => {
    const times = Array.from({ length: 100_300 }, (_, at) => BEGIN + at);
    const { eventTimes } = await given(times, 200_000);
    await expect(eventTimes.lastUpTo(BEGIN + 100_299)).rejects.toMatchObject({ code: 'not_caught_up' });
  });
});
