import type { LeaseTerm } from '../../../shared/loops/leased-loop.ts';
import { pause } from '../../../shared/primitives/pause.ts';
import { WakeUp } from '../../../shared/primitives/wake-up.ts';
import { rangeId, type Range } from '../domain/coverage.ts';
import { Backfill } from './backfill.ts';
import { advanceToHead } from './advance-to-head.ts';
import type { FollowedChain, FollowerDependencies, FollowSettings } from './followed-chain.ts';
import type { ProgressMeter } from './progress-meter.ts';
import { FinalBlocksLost } from './reconcile.ts';
import { resume } from './resume.ts';
import { Semaphore } from '../../../shared/primitives/semaphore.ts';
import { ChainAppends } from './store-changes/chain-appends.ts';
import type { ChainWriter } from './store-changes/chain-writer.ts';
import { addWatches } from './add-watches.ts';

/** How many chunks of blocks all backfills of a chain may have in memory at a time, from their request until they are stored. */
const CHUNKS_AT_ONCE = 4;

/**
 * Follows one chain until the signal aborts. It throws if something fails, and the caller runs it again. What must stay
 * true:
 * - the window is linked, and the records of a block are stored before the stored progress contains the block;
 * - a watch is live only when its records before the window, and in it, are stored;
 * - only final blocks are read as ranges;
 * - before it reads what is stored after the stored progress, the appends of earlier followers are fenced (decision 0012);
 * - whatever fails, running again from the stored progress stores nothing twice and misses nothing.
 * @param reportRunning called whenever the follower has done what it could for now
 */
export const followChain = async (
  settings: FollowSettings,
  dependencies: FollowerDependencies,
  signal: AbortSignal,
  reportRunning: () => void,
  term: LeaseTerm,
): Promise<void> => {
  // Until they are fenced, requests of earlier followers may be in flight.
  term.leavesInFlight = !term.nothingInFlightBefore;
  while (!signal.aborted) {
    try {
      await followFromStored(settings, dependencies, signal, reportRunning, term);
    } catch (error) {
      if (!(error instanceof FinalBlocksLost)) throw error;
      reportRunning();
      await pause(settings.pollMs, signal);
    }
  }
};

const followFromStored = async (
  settings: FollowSettings,
  dependencies: FollowerDependencies,
  signal: AbortSignal,
  reportRunning: () => void,
  term: LeaseTerm,
): Promise<void> => {
  const stop = new AbortController();
  const stopping = AbortSignal.any([signal, stop.signal]);
  const appends = new ChainAppends(dependencies, stopping, term.leavesInFlight);
  const running = new Set<Promise<unknown>>();
  try {
    const { chain, writer } = await resume(settings, dependencies, appends, stopping);
    await new ChainFollower(chain, writer, dependencies.meter, running).follow(stopping, reportRunning);
  } finally {
    stop.abort();
    await Promise.allSettled(running);
    term.leavesInFlight = appends.mayStillBeStored;
  }
};

/** Runs side by side: following the head, adding the watches that are registered, and a backfill for each range. */
class ChainFollower {
  private readonly chunks = new Semaphore(CHUNKS_AT_ONCE);
  /** Rings when a backfill has ended: there is room for another range. */
  private readonly backfillEnded = new WakeUp();
  private readonly backfilling = new Set<string>();
  private readonly failed = Promise.withResolvers<never>();

  constructor(
    private readonly chain: FollowedChain,
    private readonly writer: ChainWriter,
    private readonly meter: ProgressMeter,
    /** All work that must end before the chain may be followed again. */
    private readonly running: Set<Promise<unknown>>,
  ) {}

  /** Returns when the signal has aborted, or throws the first error of the head, the registrations or a backfill. */
  async follow(signal: AbortSignal, reportRunning: () => void): Promise<void> {
    this.startBackfills(signal);
    this.start(this.addRegistered(signal));
    const head = this.followHead(signal, reportRunning);
    this.start(head);
    await Promise.race([this.failed.promise, head]);
  }

  private async followHead(signal: AbortSignal, reportRunning: () => void): Promise<void> {
    while (!signal.aborted) {
      const head = await this.chain.reader.head();
      await this.writer.commit((progress) => advanceToHead(progress, head, this.chain));
      this.startBackfills(signal);
      reportRunning();
      await pause(this.chain.pollMs, signal);
    }
  }

  /** Adds what is registered, in order. While there is no room for more ranges, waits until a backfill has ended. */
  private async addRegistered(signal: AbortSignal): Promise<void> {
    const { watches } = this.chain;
    for await (const { changes, upTo } of watches.changesAfter(this.writer.progress.watchesUpTo, signal)) {
      let waiting = changes;
      while (waiting.length > 0 && !signal.aborted) {
        const seen = this.backfillEnded.rung;
        const next = { changes: waiting, upTo };
        waiting = await this.writer.commit((progress) => addWatches(progress, next, this.chain));
        this.startBackfills(signal);
        if (waiting.length > 0) await this.backfillEnded.wait(seen, signal);
      }
    }
  }

  private startBackfills(signal: AbortSignal): void {
    for (const range of this.writer.progress.backfills) {
      const id = rangeId(range);
      if (this.backfilling.has(id)) continue;
      this.backfilling.add(id);
      this.start(this.backfill(range, id, signal));
    }
  }

  private async backfill(range: Range, id: string, signal: AbortSignal): Promise<void> {
    const { chain, writer, meter, chunks } = this;
    try {
      await new Backfill({ chain, writer, meter, chunks }, range).run(signal);
    } finally {
      meter.succeeded(range.watchId);
      this.backfilling.delete(id);
      this.backfillEnded.ring();
    }
  }

  private start(work: Promise<unknown>): void {
    this.running.add(work);
    work.then(() => this.running.delete(work), this.failed.reject);
  }
}
