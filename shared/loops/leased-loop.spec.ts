import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { pause } from '../primitives/waiting/pause.ts';
import { MemoryReadStore } from '../testing/engines/read-store.memory.ts';
import { eventually } from '../testing/eventually.ts';
import { nameHolder } from './lease-holder.ts';
import { leasedLoop, type LeaseTerm } from './leased-loop.ts';
import type { SupervisedLoop } from './supervised-loop.ts';
import { inSimulatedTime } from '../testing/simulation/simulated-globals.ts';

/** When another process takes over from a silent holder, and when a holder that cannot renew gives up. */
const SILENT_AFTER_MS = 5_500;
const GIVES_UP_AFTER_MS = 4_000;
const logger = pino({ level: 'silent' });
/** A process id that no process of this machine has. */
const NOBODY = 4_194_305;
const REMOTE = 'another machine/1/x';

const until = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

describe('a leased loop', () => {
  const world = () => {
    const store = new MemoryReadStore();
    const working = new Set<string>();
    let most = 0;
    const contender = (
      holder: string,
      leases: Pick<MemoryReadStore, 'lease' | 'replaceLease' | 'renewLease'> = store,
    ) => {
      const run = async (signal: AbortSignal, report: () => void) => {
        working.add(holder);
        most = Math.max(most, working.size);
        report();
        await until(signal);
        working.delete(holder);
      };
      const loop = leasedLoop({ name: 'work', leases, logger, holder, run });
      loop.start();
      return loop;
    };
    const works = (holder: string) => eventually(() => working.has(holder), 2_000, `${holder} must work`);
    return { store, working, contender, works, most: () => most };
  };
  const stopAll = (loops: SupervisedLoop[]) => Promise.all(loops.map((loop) => loop.stop()));

  it('runs in one of many processes, and in the next at once when that one stops', () =>
    inSimulatedTime(async (time) => {
      const { contender, works, most, working } = world();
      const first = contender('elsewhere/1/a');
      await works('elsewhere/1/a');
      const others = ['elsewhere/2/b', 'elsewhere/3/c'].map((holder) => contender(holder));
      await eventually(() => others.every(({ state }) => state === 'standby'), 1_000, 'the others must be on standby');
      expect(first.state).toBe('running');
      await first.stop();
      const stoppedAt = time.elapsed();
      await eventually(() => working.size === 1, 1_000, 'one of the others must work');
      expect(time.elapsed() - stoppedAt).toBeLessThan(1_000);
      await stopAll(others);
      expect(most()).toBe(1);
      expect(working.size).toBe(0);
    }));

  it('takes over from a silent holder, and not from one that renews', () =>
    inSimulatedTime(async (time) => {
      const { store, contender, works, most } = world();
      await store.replaceLease('work', undefined, { holder: REMOTE, epoch: 7, renewals: 3 });
      const loop = contender('elsewhere/2/b');
      await works('elsewhere/2/b');
      expect(time.elapsed()).toBeGreaterThanOrEqual(SILENT_AFTER_MS);
      expect(time.elapsed()).toBeLessThanOrEqual(SILENT_AFTER_MS + 500);
      expect(await store.lease('work')).toMatchObject({ holder: 'elsewhere/2/b', epoch: 8 });
      const next = contender('elsewhere/3/c');
      await time.pause(60_000);
      expect([loop.state, next.state, most()]).toEqual(['running', 'standby', 1]);
      await stopAll([loop, next]);
    }));

  it('takes over at once from a process of this machine that has ended, and from an earlier one of the same id', () =>
    inSimulatedTime(async (time) => {
      for (const gone of [nameHolder(NOBODY), nameHolder(process.pid)]) {
        const { store, contender, works, working } = world();
        await store.replaceLease('work', undefined, { holder: gone, epoch: 1, renewals: 0 });
        const startedAt = time.elapsed();
        const loop = contender('elsewhere/2/b');
        await works('elsewhere/2/b');
        expect(working.size).toBe(1);
        expect(time.elapsed() - startedAt).toBeLessThan(1_000);
        await loop.stop();
      }
    }));

  it('stops before another process may take over, when it cannot renew', () =>
    inSimulatedTime(async () => {
      const { store, contender, works, working, most } = world();
      let isAway = false;
      const away = () => (isAway ? Promise.reject(new Error('the store is away')) : undefined);
      const first = contender('elsewhere/1/a', {
        lease: (name) => away() ?? store.lease(name),
        replaceLease: (...args) => away() ?? store.replaceLease(...args),
        renewLease: (...args) => away() ?? store.renewLease(...args),
      });
      await works('elsewhere/1/a');
      const second = contender('elsewhere/2/b');
      isAway = true;
      await works('elsewhere/2/b');
      expect(most()).toBe(1);
      expect(working).toEqual(new Set(['elsewhere/2/b']));
      isAway = false;
      await stopAll([first, second]);
    }));

  it('stops when another process took the lease, and keeps it when the answer to a renewal was lost', () =>
    inSimulatedTime(async (time) => {
      const { store, contender, works, working } = world();
      let lost = 0;
      const first = contender('elsewhere/1/a', {
        lease: (name) => store.lease(name),
        replaceLease: (...args) => store.replaceLease(...args),
        renewLease: async (...args) => {
          const renewed = await store.renewLease(...args);
          if (renewed?.renewals !== 2 || lost > 0) return renewed;
          lost += 1;
          throw new Error('the answer was lost');
        },
      });
      await works('elsewhere/1/a');
      await eventually(async () => ((await store.lease('work'))?.renewals ?? 0) > 4, 1_000, 'it must keep renewing');
      expect(lost).toBe(1);
      const current = await store.lease('work');
      await eventually(
        async () => store.replaceLease('work', await store.lease('work'), { holder: REMOTE, epoch: 100, renewals: 0 }),
        1_000,
        'another process must be able to take the lease',
      );
      expect(current?.epoch).toBe(1);
      const takenAt = time.elapsed();
      await eventually(() => working.size === 0, 1_000, 'the first must stop');
      // At the next renewal, and not only when it would give up.
      expect(time.elapsed() - takenAt).toBeLessThan(2_000);
      await first.stop();
    }));

  it('counts its time from the request for the lease, however late the answer arrives', () =>
    inSimulatedTime(async () => {
      const { store, contender, works, most } = world();
      const isSlow = [true, false];
      const first = contender('elsewhere/1/a', {
        lease: (name) => store.lease(name),
        renewLease: (...args) => store.renewLease(...args),
        replaceLease: async (...args) => {
          if (!isSlow.shift()) return Promise.withResolvers<never>().promise;
          const done = await store.replaceLease(...args);
          await pause(GIVES_UP_AFTER_MS + 20);
          return done;
        },
      });
      await eventually(async () => (await store.lease('work')) !== undefined, 1_000, 'the first must have the lease');
      const second = contender('elsewhere/2/b');
      await works('elsewhere/2/b');
      await stopAll([first, second]);
      expect(most()).toBe(1);
    }));
});

describe('the term of a lease', () => {
  /** Runs one term, and returns its start values. */
  const termOf = async (store: MemoryReadStore, holder: string, ends: (term: LeaseTerm) => Promise<void>) => {
    const { promise: ended, resolve } = Promise.withResolvers<boolean>();
    const loop = leasedLoop({
      name: 'work',
      leases: store,
      logger,
      holder,
      run: async (signal, reportRunning, term) => {
        reportRunning();
        resolve(term.nothingInFlightBefore);
        await ends(term);
        await until(signal);
      },
    });
    loop.start();
    const nothingInFlightBefore = await ended;
    await loop.stop();
    return nothingInFlightBefore;
  };
  const well = () => Promise.resolve();

  it('starts with nothing in flight after a holder that ended, or failed, with nothing in flight', () =>
    inSimulatedTime(async () => {
      const store = new MemoryReadStore();
      expect(await termOf(store, 'elsewhere/1/a', well)).toBe(false);
      expect(await termOf(store, 'elsewhere/2/b', () => Promise.reject(new Error('no provider')))).toBe(true);
      expect(await termOf(store, 'elsewhere/3/c', well)).toBe(true);
    }));

  it('starts at once, but with requests possibly in flight, after a holder that left some', () =>
    inSimulatedTime(async (time) => {
      const store = new MemoryReadStore();
      await termOf(store, 'elsewhere/1/a', (term) => {
        term.leavesInFlight = true;
        return Promise.resolve();
      });
      const startedAt = time.elapsed();
      expect(await termOf(store, 'elsewhere/2/b', well)).toBe(false);
      expect(time.elapsed()).toBe(startedAt);
    }));

  it('starts with requests possibly in flight after a holder that was silent, or whose process has ended', () =>
    inSimulatedTime(async () => {
      for (const holder of [REMOTE, nameHolder(NOBODY)]) {
        const store = new MemoryReadStore();
        await store.replaceLease('work', undefined, { holder, epoch: 1, renewals: 0 });
        expect(await termOf(store, 'elsewhere/2/b', well)).toBe(false);
      }
    }));

  it('is reported as starting when the lease is won, and as running when its work reports progress', () =>
    inSimulatedTime(async () => {
      const store = new MemoryReadStore();
      await store.replaceLease('work', undefined, { holder: REMOTE, epoch: 1, renewals: 0 });
      const { promise: gate, resolve: open } = Promise.withResolvers<undefined>();
      const loop = leasedLoop({
        name: 'work',
        leases: store,
        logger,
        holder: 'elsewhere/2/b',
        run: async (signal, reportRunning) => {
          await gate;
          reportRunning();
          await until(signal);
        },
      });
      loop.start();
      await eventually(() => loop.state === 'standby', 1_000, 'it must be on standby');
      await eventually(() => loop.state === 'starting', 1_000, 'it must be starting');
      open(undefined);
      await eventually(() => loop.state === 'running', 1_000, 'it must be running');
      await loop.stop();
    }));
});
