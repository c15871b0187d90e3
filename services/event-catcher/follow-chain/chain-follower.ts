import { FinalizedContradicted, type BlockHeader } from '../../../shared/chain/chain-reader.ts';
import type { LeaseTerm } from '../../../shared/loops/leased-loop.ts';
import { LogThrottle } from '../../../shared/primitives/log-throttle.ts';
import { pause } from '../../../shared/primitives/pause.ts';
import { Announcements } from '../domain/announcements.ts';
import { nextLookMs } from '../domain/next-look.ts';
import { stillMaxMs, stillText } from '../domain/still-head.ts';
import { tipOf } from '../domain/window.ts';
import { Backfills } from './backfills.ts';
import { advanceToHead } from './advance-to-head.ts';
import type { FollowedChain, FollowerDependencies, FollowSettings } from './followed-chain.ts';
import { DeeperThanFinality, finalBlockError, FinalBlocksLost } from './reconcile.ts';
import { resume } from './resume.ts';
import { ChainAppends } from './store-changes/chain-appends.ts';
import type { ChainWriter } from './store-changes/chain-writer.ts';
import { addWatches } from './add-watches.ts';
import { Places } from './places.ts';
import { VerificationPass } from './verify-chain/verification-pass.ts';

/** A chain that contradicts a final block is not read until its provider says something else. So often that is looked at. */
const CONTRADICTED_POLLS = 10;
/** How often places are given at most, and at least. */
const PLACES_MS = 50;
const PLACES_MS_MAX = 5_000;

/**
 * Follows one chain until the signal aborts. It throws if something fails, and the caller runs it again. A chain that contradicts a
 * block that was final pauses: other chains, and the process, go on. What must stay
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
  const alarmed = new LogThrottle();
  while (!signal.aborted) {
    try {
      await followFromStored(settings, dependencies, signal, reportRunning, term);
    } catch (thrown) {
      const error = thrown instanceof FinalizedContradicted ? finalBlockError(settings, 'another') : thrown;
      if (!(error instanceof FinalBlocksLost || error instanceof DeeperThanFinality)) throw error;
      if (error instanceof DeeperThanFinality) dependencies.meter.chainError = error.message;
      if (alarmed.isDue(error.message)) dependencies.logger.error({ chainId: settings.chainId }, error.message);
      reportRunning();
      await pause(error instanceof FinalBlocksLost ? settings.pollMs : CONTRADICTED_POLLS * settings.pollMs, signal);
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
    const resumed = await resume(settings, dependencies, appends, stopping);
    dependencies.meter.chainError = null;
    const pass = new VerificationPass({ ...dependencies, ...resumed });
    const { chain, writer } = resumed;
    await new ChainFollower(chain, writer, pass, dependencies, running).follow(stopping, reportRunning);
  } finally {
    stop.abort();
    await Promise.allSettled(running);
    dependencies.meter.chainError = dependencies.meter.chainWarning = null;
    dependencies.meter.unverified.clear();
    term.leavesInFlight = appends.mayStillBeStored;
  }
};

/** Runs side by side: following the head, adding the watches that are registered, the backfills, and the verification. */
class ChainFollower {
  private readonly backfills: Backfills;
  private readonly announcements = new Announcements();
  private readonly places: Places;
  private readonly failed = Promise.withResolvers<never>();

  constructor(
    private readonly chain: FollowedChain,
    private readonly writer: ChainWriter,
    private readonly pass: VerificationPass,
    private readonly dependencies: Pick<FollowerDependencies, 'meter' | 'clock' | 'bounds'>,
    /** All work that must end before the chain may be followed again. */
    private readonly running: Set<Promise<unknown>>,
  ) {
    this.backfills = new Backfills({ ...dependencies, chain, writer });
    this.places = new Places(chain, this.backfills, dependencies.clock);
  }

  /** Returns when the signal has aborted, or throws the first error of one of them. */
  async follow(signal: AbortSignal, reportRunning: () => void): Promise<void> {
    this.start(this.backfills.run(signal));
    this.start(this.addRegistered(signal));
    this.start(this.givePlaces(signal));
    this.start(this.pass.run(signal));
    const head = this.followHead(signal, reportRunning);
    this.start(head);
    await Promise.race([this.failed.promise, head]);
  }

  private async followHead(signal: AbortSignal, reportRunning: () => void): Promise<void> {
    const { newHeads, finality } = this.chain;
    const { clock } = this.dependencies;
    let foundAtMs = clock.elapsed();
    let wasAnnounced = false;
    while (!signal.aborted) {
      const { rung } = newHeads.announced;
      const before = this.writer.progress.window;
      const head = await finality.head();
      await this.writer.commit((progress) => advanceToHead(progress, head, this.chain));
      this.backfills.lookAgain();
      reportRunning();
      const isFound = tipOf(this.writer.progress.window) !== tipOf(before);
      if (isFound) foundAtMs = clock.elapsed();
      const foundAgoMs = clock.elapsed() - foundAtMs;
      this.warnOfStillHead(head, foundAgoMs);
      this.announcements.looked({ wasAnnounced, isFound });
      wasAnnounced = await this.untilNextLook(this.nextLookMs(head, foundAgoMs), rung, signal);
    }
  }

  /** @param seen how many announcements there were before the last look. @returns whether the next one was announced */
  private async untilNextLook(timeMs: number, seen: number, signal: AbortSignal): Promise<boolean> {
    const { newHeads, pollMs } = this.chain;
    const leastMs = Math.min(pollMs, timeMs);
    await pause(leastMs, signal);
    if (!this.announcements.areHeeded) {
      await pause(timeMs - leastMs, signal);
      return false;
    }
    const woken = new AbortController();
    const waiting = AbortSignal.any([signal, woken.signal]);
    await Promise.race([pause(timeMs - leastMs, waiting), newHeads.announced.wait(seen, waiting)]);
    woken.abort();
    return newHeads.announced.rung > seen;
  }

  /** @throws DeeperThanFinality if the chain ends before its final block: a provider that lags does not for so long */
  private warnOfStillHead(head: BlockHeader, stillMs: number): void {
    const { chain } = this;
    const { window } = this.writer.progress;
    const isStill = !chain.isDevelopment && stillMs > stillMaxMs(window);
    if (isStill && head.number < window[0].number) throw finalBlockError(chain, undefined);
    chain.meter.chainWarning = isStill ? stillText(stillMs) : null;
  }

  private nextLookMs(head: BlockHeader, foundAgoMs: number): number {
    const { newHeads, pollMs, pollMsMax, isLocal } = this.chain;
    const { window } = this.writer.progress;
    // It was approached in a step, and the next one is due.
    if (tipOf(window).number < head.number) return pollMs;
    const announcedAgoMs = this.announcements.areWaitedFor ? newHeads.announcedAgoMs : Infinity;
    return nextLookMs(window, { foundAgoMs, announcedAgoMs }, { leastMs: pollMs, mostMs: pollMsMax, isLocal });
  }

  /** Adds what is registered, in order. */
  private async addRegistered(signal: AbortSignal): Promise<void> {
    const { watches } = this.chain;
    for await (const next of watches.changesAfter(this.writer.progress.watchesUpTo, signal)) {
      await this.writer.commit((progress) => addWatches(progress, next, this.chain));
      this.backfills.lookAgain();
    }
  }

  /** Gives places to ranges, whenever some are finished, or have failed. */
  private async givePlaces(signal: AbortSignal): Promise<void> {
    const { places } = this;
    const { readingEnded } = this.backfills;
    while (!signal.aborted) {
      const seen = readingEnded.rung;
      if (places.isDue(this.writer.progress)) {
        await this.writer.commit((progress) => places.give(progress));
        this.backfills.lookAgain();
      }
      await readingEnded.wait(seen, AbortSignal.any([signal, AbortSignal.timeout(PLACES_MS_MAX)]));
      await pause(PLACES_MS, signal);
    }
  }

  private start(work: Promise<unknown>): void {
    this.running.add(work);
    work.then(() => this.running.delete(work), this.failed.reject);
  }
}
