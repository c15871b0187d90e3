import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryEventStore } from '../../../../shared/testing/engines/event-store.memory.ts';
import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import {
  addWatch,
  cover,
  initialProgress,
  defer,
  resumeDeferred,
  type ChainProgress,
  type Transition,
} from '../../domain/chain-progress.ts';
import type { Header } from '../../domain/window/window.ts';
import { dyingAfter } from '../../testing/follower/faulty-stores.ts';
import { overriding } from '../../testing/overriding.ts';
import { ChainAppends } from './chain-appends.ts';
import { ChainRecords } from './chain-records.ts';
import { ChainWriter } from './chain-writer.ts';
import { ProgressStream } from './progress-stream.ts';

const STREAM = 'chain-2484-aside';
const WATCHES = ['a', 'b', 'c'];
const hash = (digit: string) => `0x${digit.repeat(64)}`;
const final: Header = { number: 50, hash: hash('5'), parentHash: hash('4'), timestamp: 0 };

/** A writer that begins, or continues from what is stored. */
const aWriter = async (eventStore: EventStore, isUnfenced = false) => {
  const dependencies = { eventStore, clock: systemClock, ids: systemIds };
  const appends = new ChainAppends(dependencies, new AbortController().signal, isUnfenced);
  const stream = await ProgressStream.load({ eventStore, appends }, 2484);
  const records = new ChainRecords({ eventStore, appends }, 2484);
  const writer = new ChainWriter(stream.stored ?? initialProgress([final], 0), records, stream, systemClock);
  const change = (...transitions: Transition[]) =>
    writer.commit(function* () {
      for (const transition of transitions) yield { transition };
    });
  return { writer, change, loaded: stream.stored };
};

/** Every range, and whether it is deferred. */
const rangesOf = (progress: ChainProgress | undefined) => ({
  backfills: progress?.backfills ?? [],
  deferred: Object.fromEntries(progress?.deferred ?? []),
});

/** Calls back whenever progress was stored, even if the writer does not learn of it. */
const kept = (store: EventStore, stored: () => void): EventStore =>
  overriding<EventStore>(store, {
    append: async (stream, revision, events) => {
      const appended = await store.append(stream, revision, events);
      if (events.some(({ type }) => type === 'ChainAdvanced')) stored();
      return appended;
    },
  });

const steps = fc.array(
  fc.tuple(fc.constantFrom('defer', 'resumeDeferred', 'read'), fc.constantFrom(...WATCHES), fc.boolean()),
  { minLength: 1, maxLength: 12 },
);

const transitionFor = (step: string, id: string, { backfills }: ChainProgress): Transition => {
  const range = backfills.find(({ watchId }) => watchId === id);
  if (step === 'read') return range ? cover(id, { from: range.next, to: range.next }) : (progress) => progress;
  return step === 'defer' ? defer([id]) : resumeDeferred([id]);
};

describe('what is deferred', () => {
  it('is stored for each watch whose ranges have changed, before the progress without them', async () => {
    const store = new MemoryEventStore();
    const { change } = await aWriter(store);
    await change(...WATCHES.map((id, at) => addWatch({ id, startBlock: at }, at + 1)));
    await change(defer(['a', 'b']));
    await change(resumeDeferred(['a']));
    const data = (watchId: string, from?: number) => ({
      chainId: 2484,
      watchId,
      ranges: from === undefined ? [] : [{ from, next: from, to: 50, joins: true }],
    });
    expect((await store.read(STREAM)).map((event) => event.data)).toEqual([data('a', 0), data('b', 1), data('a')]);
    const types = (await store.readAll(0, undefined, 100)).events.map(({ type }) => type);
    expect(types.slice(1, 4)).toEqual(['RangesSetAside', 'RangesSetAside', 'ChainAdvanced']);
    const { loaded } = await aWriter(store);
    expect(loaded?.backfills.map(({ watchId }) => watchId)).toEqual(['c', 'a']);
    expect(Array.from(loaded?.deferred.keys() ?? [])).toEqual(['b']);
  });

  it('is in the progress or beside it, and not in both, wherever a process dies', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.nat({ max: 12 }), fc.boolean(), async (sequence, appends, isLost) => {
        const store = new MemoryEventStore();
        const first = await aWriter(store);
        await first.change(...WATCHES.map((id, at) => addWatch({ id, startBlock: at }, at + 1)));
        let expected = rangesOf(first.writer.progress);
        let current: Awaited<ReturnType<typeof aWriter>> | undefined;
        for (const dies of [appends, Math.floor(appends / 2), Infinity]) {
          const killed = dyingAfter(
            kept(store, () => {
              expected = rangesOf(current?.writer.progress);
            }),
            dies,
            isLost,
          );
          try {
            current = await aWriter(killed.store);
            expect(rangesOf(current.loaded)).toEqual(expected);
            for (const [step, id, isTogether] of sequence) {
              const transition = transitionFor(step, id, current.writer.progress);
              await current.change(transition, ...(isTogether ? [defer(['c']), resumeDeferred(['c', 'a'])] : []));
            }
          } catch (error) {
            if (!killed.killed()) throw error;
          }
        }
        const { loaded } = await aWriter(store);
        expect(rangesOf(loaded)).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('is not changed by a process that was replaced', async () => {
    const store = new MemoryEventStore();
    const former = await aWriter(store);
    await former.change(...WATCHES.map((id, at) => addWatch({ id, startBlock: at }, at + 1)));
    const { loaded } = await aWriter(store, true);
    await expect(former.change(defer(['a']))).rejects.toThrow();
    expect((await aWriter(store)).loaded).toEqual(loaded);
  });
});
