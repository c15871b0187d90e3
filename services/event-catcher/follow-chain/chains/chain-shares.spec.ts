import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { catcherAnnouncement, CATCHERS_KIND, type CatcherAnnouncement } from '../../../../schemas/announcements.ts';
import { announcing } from '../../../../shared/coordination/announcing.ts';
import { Members } from '../../../../shared/coordination/members.ts';
import { leasedLoop } from '../../../../shared/loops/leased-loop.ts';
import { Loops } from '../../../../shared/loops/loops.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { MemoryReadStore } from '../../../../shared/testing/engines/read-store.memory.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { inSimulatedTime } from '../../../../shared/testing/simulation/simulated-globals.ts';
import { TestClock } from '../../../../shared/testing/test-foundation.ts';
import { ChainShares } from './chain-shares.ts';

const logger = pino({ level: 'silent' });
const WAIT_MS = 30_000;

const until = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Event catchers of one cluster that only hold the leases of their chains, and follow nothing. */
class Cluster {
  private readonly store = new MemoryReadStore();
  /** Which catcher follows each chain; two at a time are a fault. */
  private readonly followers = new Map<number, string[]>();
  readonly faults: string[] = [];

  /** @param failing the chains whose provider does not answer this catcher */
  join(id: string, chainIds: readonly number[], failing: readonly number[] = []) {
    const catchers = new Members({
      ...{ readStore: this.store, clock: systemClock, logger },
      ...{ kind: CATCHERS_KIND, schema: catcherAnnouncement },
    });
    const shares = new ChainShares({ id, chainIds, catchers, clock: systemClock, logger });
    const chains = chainIds.map((chainId) =>
      leasedLoop({
        ...{ name: `chain ${String(chainId)}`, leases: this.store, logger, holder: `elsewhere/1/${id}` },
        sharing: shares.sharing(chainId),
        run: async (signal, report) => {
          if (failing.includes(chainId)) {
            shares.failed(chainId);
            throw new Error('no provider');
          }
          const followers = this.followers.get(chainId) ?? [];
          this.followers.set(chainId, [...followers, id]);
          if (followers.length > 0) this.faults.push(`${followers.join()} and ${id} follow chain ${String(chainId)}`);
          report();
          await until(signal);
          this.followers.set(chainId, this.followers.get(chainId)?.filter((one) => one !== id) ?? []);
        },
      }),
    );
    const describeCatcher = () => shares.announcement;
    const announcement = announcing({
      kind: CATCHERS_KIND,
      readStore: this.store,
      logger,
      id,
      describe: describeCatcher,
    });
    const loops = new Loops([...chains, announcement, catchers.loop, shares.loop]);
    loops.start();
    return loops;
  }

  /** Number of chains that each catcher follows, by its id. */
  get counts(): Record<string, number> {
    const ids = [...this.followers.values()].flat();
    return Object.fromEntries([...new Set(ids)].sort().map((id) => [id, ids.filter((one) => one === id).length]));
  }

  waitFor(counts: Record<string, number>): Promise<boolean> {
    const said = JSON.stringify(counts);
    return eventually(() => JSON.stringify(this.counts) === said, WAIT_MS, `they must be shared: ${said}`).catch(
      (cause: unknown) => {
        throw new Error(`${said} is ${JSON.stringify(this.counts)}`, { cause });
      },
    );
  }
}

describe('an event catcher beside another', () => {
  const clock = new TestClock();
  const other = (changes: Partial<CatcherAnnouncement> = {}, isAlive = true) => ({
    id: 'b',
    document: { chainIds: [1, 2, 3], failing: [], followed: [], ...changes },
    isAlive,
    isSilent: !isAlive,
  });
  const beside = (...known: ReturnType<typeof other>[]) => {
    const shares = new ChainShares({ id: 'a', chainIds: [1, 2, 3], catchers: { known: () => known }, clock, logger });
    const own = { id: 'a', document: shares.announcement, isAlive: true, isSilent: false };
    known.push({ ...own, document: { ...own.document, followed: [] } });
    return shares;
  };

  it('takes a chain that was released at once, and one that was given away only if it follows no more', () => {
    const shares = beside(other({ followed: [2] }));
    shares.sharing(1).begin();
    expect(shares.sharing(3).mayTake(0, true)).toBe(true);
    shares.sharing(2).begin();
    expect(shares.sharing(3).mayTake(0, false)).toBe(true);
    expect(shares.sharing(3).mayTake(1_999, true)).toBe(false);
    expect(shares.sharing(3).mayTake(2_000, true)).toBe(true);
  });

  it('takes whatever is free if no other lives, or none can follow it', () => {
    for (const known of [other({}, false), other({ chainIds: [1, 2] }), other({ failing: [3] })]) {
      const shares = beside(known);
      shares.failed(3);
      shares.sharing(1).begin();
      expect(shares.sharing(3).mayTake(0, true)).toBe(true);
    }
  });

  it('lets others go first with a chain that it could not follow, for a minute, and says so', () => {
    const shares = beside(other());
    shares.failed(3);
    expect(shares.announcement).toEqual({ chainIds: [1, 2, 3], failing: [3], followed: [] });
    expect(shares.sharing(3).mayTake(1_999, false)).toBe(false);
    expect(shares.sharing(3).mayTake(2_000, false)).toBe(true);
    clock.time += 60_000;
    expect(shares.announcement.failing).toEqual([]);
    expect(shares.sharing(3).mayTake(0, false)).toBe(true);
  });

  it('gives what is beyond its share once that has settled, and does not take it back', () =>
    inSimulatedTime(async () => {
      const shares = beside(other());
      const giving = [1, 2, 3].map((chainId) => shares.sharing(chainId).begin());
      shares.loop.start();
      clock.time += 4_999;
      await eventually(() => shares.loop.state === 'running', 1_000, 'it must have looked');
      expect(giving.map(({ aborted }) => aborted)).toEqual([false, false, false]);
      clock.time += 1;
      await eventually(() => giving[0]?.aborted, 5_000, 'it must give one');
      expect(giving.map(({ aborted }) => aborted)).toEqual([true, false, false]);
      shares.sharing(1).end();
      expect(shares.announcement.followed).toEqual([2, 3]);
      expect(shares.sharing(1).mayTake(0, false)).toBe(false);
      await shares.loop.stop();
    }));
});

describe('event catchers', () => {
  it('share the chains: one that joins gets its part, one that leaves gives its part to the others', () =>
    inSimulatedTime(async () => {
      const cluster = new Cluster();
      const first = cluster.join('a', [1, 2, 3]);
      await cluster.waitFor({ a: 3 });
      const second = cluster.join('b', [1, 2, 3]);
      await cluster.waitFor({ a: 2, b: 1 });
      const third = cluster.join('c', [1, 2, 3]);
      await cluster.waitFor({ a: 1, b: 1, c: 1 });
      await first.stop();
      await eventually(() => Object.values(cluster.counts).sort().join() === '1,2', WAIT_MS, 'b and c must share them');
      await second.stop();
      await cluster.waitFor({ c: 3 });
      await third.stop();
      expect(cluster.faults).toEqual([]);
    }));

  it('leave a chain to the one whose provider answers', () =>
    inSimulatedTime(async () => {
      const cluster = new Cluster();
      const first = cluster.join('a', [1, 2], [2]);
      await cluster.waitFor({ a: 1 });
      const second = cluster.join('b', [1, 2]);
      await cluster.waitFor({ a: 1, b: 1 });
      await Promise.all([first.stop(), second.stop()]);
      expect(cluster.faults).toEqual([]);
    }));
});
