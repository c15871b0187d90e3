import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { anEvent } from '../../testing/event-builder.ts';
import { frozen } from '../../testing/given.ts';
import { MemoryEventStore } from '../../testing/engines/event-store.memory.ts';
import type { EventStore, ReadStreamOptions, Retention } from '../event-store.ts';
import { FoldedStreams } from './folded-streams.ts';

const ids = {
  initial: [] as readonly string[],
  evolve: (state: readonly string[], _event: unknown, _time: number, id: string) => frozen([...state, id]),
};
const count = { initial: 0, evolve: (events: number) => events + 1 };

describe('folded streams', () => {
  let store: MemoryEventStore;
  let folded: FoldedStreams;
  let read: { events: number; largest: number };
  const append = (stream: string, after: number, events = 1, keep?: Retention) =>
    store.append(
      stream,
      after,
      Array.from({ length: events }, () => anEvent()),
      keep,
    );
  /** Returns how many events were read by `work`. */
  const eventsReadBy = async (work: () => Promise<unknown>): Promise<number> => {
    const { events } = read;
    await work();
    return read.events - events;
  };
  const counting = (from: EventStore): Pick<EventStore, 'read'> => ({
    read: async (stream: string, options?: ReadStreamOptions) => {
      const events = await from.read(stream, options);
      read.events += events.length;
      read.largest = Math.max(read.largest, events.length);
      return events;
    },
  });

  beforeEach(() => {
    store = new MemoryEventStore();
    folded = new FoldedStreams(counting(store));
    read = { events: 0, largest: 0 };
  });

  it('are read in pieces of two hundred events, and others get on between them', async () => {
    await append('test-long', -1, 1_000);
    let others = 0;
    const other = (): void => {
      others += 1;
      if (others < 100) setImmediate(other);
    };
    setImmediate(other);
    expect(await folded.read('test-long', count)).toMatchObject({ state: 1_000, revision: 999, position: 1_000 });
    expect(read.largest).toBe(200);
    expect(others).toBeGreaterThanOrEqual(4);
  });

  it.each([10, 1_000])('are read on from where they were, after %d events as after any', async (length) => {
    await append('test-long', -1, length);
    await folded.read('test-long', count);
    expect(await eventsReadBy(() => folded.read('test-long', count))).toBe(1);
    await append('test-long', length - 1, 2);
    expect(await eventsReadBy(() => folded.read('test-long', count))).toBe(3);
    expect(await folded.read('test-long', count)).toMatchObject({ state: length + 2, revision: length + 1 });
  });

  it('begin anew when what was known is not kept any more', async () => {
    const keep = { newest: 3 };
    await append('test-short', -1, 2, keep);
    expect((await folded.read('test-short', count)).state).toBe(2);
    await append('test-short', 1, 3, keep);
    expect(await folded.read('test-short', count)).toMatchObject({ state: 3, revision: 4 });
  });

  it('begin anew when the stream was forgotten, and when it began again', async () => {
    await append('test-gone', -1, 2);
    await folded.read('test-gone', ids);
    store = new MemoryEventStore();
    const gone = new FoldedStreams({ read: (stream, options) => store.read(stream, options) });
    await append('test-gone', -1, 2);
    const first = await gone.read('test-gone', ids);
    store = new MemoryEventStore();
    expect(await gone.read('test-gone', ids)).toEqual({ state: [], revision: -1, position: 0 });
    await append('test-gone', -1, 4);
    const again = await gone.read('test-gone', ids);
    expect(again.state).toHaveLength(4);
    expect(again.state.slice(0, 2)).not.toEqual(first.state);
  });

  it('are not mixed up between two folds', async () => {
    await append('test-both', -1, 2);
    expect((await folded.read('test-both', count)).state).toBe(2);
    expect((await folded.read('test-both', ids)).state).toHaveLength(2);
    expect((await folded.read('test-both', count)).state).toBe(2);
  });

  it('keep the states that were used last, up to 32 MiB of text', async () => {
    const large = { initial: '', evolve: () => 'x'.repeat(1_024 * 1_024) };
    for (let at = 0; at < 40; at += 1) {
      await append(`test-${String(at)}`, -1, 10);
      await folded.read(`test-${String(at)}`, large);
    }
    expect(await eventsReadBy(() => folded.read('test-39', large))).toBe(1);
    expect(await eventsReadBy(() => folded.read('test-0', large))).toBe(10);
  });

  it('take the word of a fold for the size of its states, and keep the largest too', async () => {
    const sized = { ...count, characters: (events: number) => events * 4 * 1_024 * 1_024 };
    await append('test-huge', -1, 10);
    await folded.read('test-huge', sized);
    expect(await eventsReadBy(() => folded.read('test-huge', sized))).toBe(1);
    for (let at = 0; at < 8; at += 1) {
      await append(`test-${String(at)}`, -1, 1);
      await folded.read(`test-${String(at)}`, sized);
    }
    expect(await eventsReadBy(() => folded.read('test-huge', sized))).toBe(10);
  });

  it('say what the stream says, whoever appended, truncated or read meanwhile', async () => {
    const step = fc.record({
      process: fc.nat(1),
      appended: fc.oneof({ weight: 4, arbitrary: fc.nat(5) }, fc.nat(500)),
      newest: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined, freq: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const shared = new MemoryEventStore();
        const processes = [new FoldedStreams(shared), new FoldedStreams(shared)];
        let revision = -1;
        for (const { process, appended, newest } of steps) {
          const events = Array.from({ length: appended }, () => anEvent());
          if (appended > 0) {
            const keep = newest === undefined ? undefined : { newest };
            ({ revision } = await shared.append('test-any', revision, events, keep));
          }
          const left = await shared.read('test-any');
          const { state, revision: newestRead } = (await processes[process]?.read('test-any', ids)) ?? {};
          expect(newestRead).toBe(revision);
          // State folded before a truncation stays valid as long as its newest event exists.
          expect(state?.slice(-left.length)).toEqual(left.map(({ id }) => id));
        }
      }),
      { numRuns: 100 },
    );
  });
});
