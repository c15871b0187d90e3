import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { MemoryReadStore } from '../testing/engines/read-store.memory.ts';
import { eventually } from '../testing/eventually.ts';
import { inSimulatedTime } from '../testing/simulation/simulated-globals.ts';
import { nameHolder } from './lease-holder.ts';
import { leasedLoop, type LeaseTerm } from './leased-loop.ts';

/** When another process takes over from a silent holder. */
const SILENT_AFTER_MS = 5_500;
const logger = pino({ level: 'silent' });
/** A process id that no process of this machine has. */
const NOBODY = 4_194_305;

const until = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** A process that takes a free lease after `patienceMs`, or never. */
const sharer = (
  store: MemoryReadStore,
  holder: string,
  {
    patienceMs = 0,
    work = until,
  }: { patienceMs?: number; work?: (signal: AbortSignal, term: LeaseTerm) => Promise<void> } = {},
) => {
  const terms: { giving: AbortController; nothingInFlightBefore: boolean | undefined; hasEnded: boolean }[] = [];
  /** Whether the lease had been passed on, each time that it was free. */
  const asked: boolean[] = [];
  const loop = leasedLoop({
    ...{ name: 'work', leases: store, logger, holder },
    sharing: {
      mayTake: (freeMs, wasGiven) => {
        asked.push(wasGiven);
        return freeMs >= patienceMs;
      },
      begin: () => {
        const term = { giving: new AbortController(), nothingInFlightBefore: undefined, hasEnded: false };
        terms.push(term);
        return term.giving.signal;
      },
      end: () => {
        const newest = terms.at(-1);
        if (newest) newest.hasEnded = true;
      },
    },
    run: async (signal, report, term) => {
      const newest = terms.at(-1);
      if (newest) newest.nothingInFlightBefore = term.nothingInFlightBefore;
      report();
      await work(signal, term);
    },
  });
  loop.start();
  const works = () =>
    eventually(() => terms.at(-1)?.hasEnded === false && loop.state === 'running', 2_000, `${holder} must work`);
  return { loop, terms, asked, works, give: () => terms.at(-1)?.giving.abort(new Error('give it')) };
};

describe('a lease that processes share', () => {
  it('is given to another process, and taken back when that gives it', () =>
    inSimulatedTime(async () => {
      const store = new MemoryReadStore();
      const first = sharer(store, 'elsewhere/1/a', { patienceMs: 1_000 });
      await first.works();
      const second = sharer(store, 'elsewhere/2/b');
      await eventually(() => second.loop.state === 'standby', 1_000, 'the second must stand by');
      first.give();
      await second.works();
      expect(first.loop).toMatchObject({ state: 'standby', lastError: null });
      expect(first.terms).toMatchObject([{ hasEnded: true }]);
      expect(second.terms).toMatchObject([{ nothingInFlightBefore: true }]);
      expect(second.asked).toEqual([true]);
      await second.loop.stop();
      await first.works();
      // It was stopped, and passed the lease to nobody.
      expect(first.asked.at(-1)).toBe(false);
      expect(first.terms).toHaveLength(2);
      await first.loop.stop();
      expect((await store.lease('work'))?.holder).toBeNull();
    }));

  it('is given with what is in flight, which the next holder is told', () =>
    inSimulatedTime(async () => {
      const store = new MemoryReadStore();
      const work = async (signal: AbortSignal, term: LeaseTerm) => {
        await until(signal);
        term.leavesInFlight = true;
        throw signal.reason;
      };
      const first = sharer(store, 'elsewhere/1/a', { patienceMs: Infinity, work });
      await store.replaceLease('work', undefined, { holder: nameHolder(NOBODY), epoch: 1, renewals: 0 });
      await first.works();
      const second = sharer(store, 'elsewhere/2/b');
      first.give();
      await second.works();
      expect(first.loop).toMatchObject({ state: 'standby', lastError: null });
      expect(second.terms).toMatchObject([{ nothingInFlightBefore: false }]);
      await Promise.all([first.loop.stop(), second.loop.stop()]);
    }));

  it('that nobody holds is taken by who may, and no sooner', () =>
    inSimulatedTime(async (time) => {
      const store = new MemoryReadStore();
      const patient = sharer(store, 'elsewhere/1/a', { patienceMs: 3_000 });
      await patient.works();
      expect(time.elapsed()).toBeGreaterThanOrEqual(3_000);
      expect(time.elapsed()).toBeLessThanOrEqual(3_000 + 500);
      await patient.loop.stop();
    }));

  it('is taken at once from a process that has ended, and from one that is silent, by whoever comes first', () =>
    inSimulatedTime(async (time) => {
      const held = [nameHolder(NOBODY), 'another machine/1/x'];
      for (const [at, holder] of held.entries()) {
        const store = new MemoryReadStore();
        await store.replaceLease('work', undefined, { holder, epoch: 1, renewals: 0 });
        const startedAt = time.elapsed();
        // If the first process had to be silent, this wait would never end.
        const { loop, works } = sharer(store, 'elsewhere/2/b', { patienceMs: Infinity });
        await works();
        const passedMs = time.elapsed() - startedAt;
        if (at === 0) expect(passedMs).toBeLessThan(1_000);
        else expect(passedMs).toBeGreaterThanOrEqual(SILENT_AFTER_MS);
        await loop.stop();
      }
    }));

  it('fails as before with work that fails, and with work that ends by itself', () =>
    inSimulatedTime(async () => {
      for (const work of [() => Promise.reject(new Error('no provider')), () => Promise.resolve()]) {
        const store = new MemoryReadStore();
        const { loop, terms } = sharer(store, 'elsewhere/1/a', { work });
        await eventually(() => terms.length >= 2, 2_000, 'it must be tried again');
        expect(loop.lastError).toMatch(/no provider|ended by itself/);
        expect(terms[0]?.hasEnded).toBe(true);
        await loop.stop();
      }
    }));
});
