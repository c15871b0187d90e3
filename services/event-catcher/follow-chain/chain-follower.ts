import { FinalizedContradicted, type BlockHeader } from '../../../shared/chain/chain-reader.ts';
import type { LeaseTerm } from '../../../shared/loops/leased-loop.ts';
import { LogThrottle } from '../../../shared/primitives/log-throttle.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import { Announcements } from '../domain/head/announcements.ts';
import { nextPollMs } from '../domain/head/next-poll.ts';
import { stalledAfterMs, stalledText } from '../domain/head/stalled-head.ts';
import { tipOf } from '../../../shared/chain/window.ts';
import { Backfills } from './backfill/backfills.ts';
import { advanceToHead } from './head/advance-to-head.ts';
import type { FollowedChain, FollowerDependencies, FollowSettings } from './followed-chain.ts';
import { DeeperThanFinality, finalBlockError, FinalBlocksLost } from './window/reconcile.ts';
import { resume } from './window/resume.ts';
import { ChainAppends } from './stored-changes/chain-appends.ts';
import type { ChainWriter } from './stored-changes/chain-writer.ts';
import { addWatches } from './watches/add-watches.ts';
import { SlotAllocator } from './backfill/slot-allocator.ts';
import { VerificationPass } from './verification/verification-pass.ts';

/** How long to wait, in multiples of `pollMs`, before a chain that lacks a formerly final block is tried again. */
const CONTRADICTED_POLLS = 10;
/** The shortest and the longest time between two allocations of slots, the places for unread ranges in a checkpoint. */
const SLOTS_MS = 50;
const SLOTS_MS_MAX = 5_000;

/**
 * Reads one chain until the signal aborts. Throws if something fails: the caller then calls this function again. If the
 * chain lacks a block that was final, logs an error, pauses and tries again. What must stay true:
 * - the window, which is the newest final block and all later ones, is linked by parent hashes;
 * - the records (decoded logs) of a block are stored before the checkpoint that contains the block;
 * - a watch is read at the head only after its backfill has reached the head;
 * - only final blocks are read as ranges;
 * - the follower fences the streams (the event store then refuses late appends of earlier followers) before it reads
 * what earlier followers stored after their last checkpoint (decision 0012);
 * - after any failure, a new start from the newest checkpoint stores nothing twice and misses nothing.
 * @param reportRunning called after each poll of the head, and before each pause because of a lost final block
 */
export const followChain = async (
  settings: FollowSettings,
  dependencies: FollowerDependencies,
  signal: AbortSignal,
  reportRunning: () => void,
  term: LeaseTerm,
): Promise<void> => {
  // Appends of earlier followers may still arrive, until a fence makes the event store refuse them.
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

/**
 * Runs the tasks of one chain concurrently: polling the head, adding registered watches, backfilling blocks, allocating
 * slots to unread ranges, and verifying final blocks.
 */
class ChainFollower {
  private readonly backfills: Backfills;
  private readonly announcements = new Announcements();
  private readonly slots: SlotAllocator;
  private readonly failed = Promise.withResolvers<never>();

  constructor(
    private readonly chain: FollowedChain,
    private readonly writer: ChainWriter,
    private readonly pass: VerificationPass,
    private readonly dependencies: Pick<FollowerDependencies, 'meter' | 'clock' | 'bounds'>,
    /** Unfinished tasks: all of them must end before the chain is followed again. */
    private readonly running: Set<Promise<unknown>>,
  ) {
    this.backfills = new Backfills({ ...dependencies, chain, writer });
    this.slots = new SlotAllocator(chain, this.backfills, dependencies.clock);
  }

  /** Runs all tasks until the signal aborts. @throws the first error of any task */
  async follow(signal: AbortSignal, reportRunning: () => void): Promise<void> {
    this.start(this.backfills.run(signal));
    this.start(this.addRegistered(signal));
    this.start(this.allocateSlots(signal));
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
      this.backfills.wake();
      reportRunning();
      const isFound = tipOf(this.writer.progress.window) !== tipOf(before);
      if (isFound) foundAtMs = clock.elapsed();
      const foundAgoMs = clock.elapsed() - foundAtMs;
      this.warnOfStalledHead(head, foundAgoMs);
      this.announcements.polled({ wasAnnounced, isFound });
      wasAnnounced = await this.untilNextPoll(this.nextPollMs(head, foundAgoMs), rung, signal);
    }
  }

  /**
   * Waits until the next poll of the head is due, or an endpoint announces a new head.
   * @param seen how many heads had been announced before the last poll
   * @returns whether another head was announced; `false` if announcements are ignored
   */
  private async untilNextPoll(timeMs: number, seen: number, signal: AbortSignal): Promise<boolean> {
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

  /**
   * Sets the warning that no new block has been found for long, or clears it.
   * @throws DeeperThanFinality if the stalled head is below the stored final block: no provider lags behind for that
   * long
   */
  private warnOfStalledHead(head: BlockHeader, stalledMs: number): void {
    const { chain } = this;
    const { window } = this.writer.progress;
    const isStalled = !chain.isDevelopment && stalledMs > stalledAfterMs(window);
    if (isStalled && head.number < window[0].number) throw finalBlockError(chain, undefined);
    chain.meter.chainWarning = isStalled ? stalledText(stalledMs) : null;
  }

  private nextPollMs(head: BlockHeader, foundAgoMs: number): number {
    const { newHeads, pollMs, pollMsMax, isLocal } = this.chain;
    const { window } = this.writer.progress;
    // The head is far ahead, and this poll read only the next `WALK_BLOCKS_MAX` blocks: reads on after the shortest
    // pause.
    if (tipOf(window).number < head.number) return pollMs;
    const { areWaitedFor } = this.announcements;
    const announcedAgoMs = areWaitedFor ? newHeads.announcedAgoMs : Infinity;
    const isListening = areWaitedFor && newHeads.isListening;
    return nextPollMs(
      window,
      { foundAgoMs, announcedAgoMs, isListening },
      { leastMs: pollMs, mostMs: pollMsMax, isLocal },
    );
  }

  /** Adds newly registered watches to the progress, and applies changes to known ones, in the order of their events. */
  private async addRegistered(signal: AbortSignal): Promise<void> {
    const { watches } = this.chain;
    for await (const next of watches.changesAfter(this.writer.progress.watchesUpTo, signal)) {
      await this.writer.commit((progress) => addWatches(progress, next, this.chain));
      this.backfills.wake();
    }
  }

  /** Allocates slots to unread ranges each time a range was read or failed, and at least every few seconds. */
  private async allocateSlots(signal: AbortSignal): Promise<void> {
    const { slots } = this;
    const { readingEnded } = this.backfills;
    while (!signal.aborted) {
      const seen = readingEnded.rung;
      if (slots.isDue(this.writer.progress)) {
        await this.writer.commit((progress) => slots.allocate(progress));
        this.backfills.wake();
      }
      await readingEnded.wait(seen, AbortSignal.any([signal, AbortSignal.timeout(SLOTS_MS_MAX)]));
      await pause(SLOTS_MS, signal);
    }
  }

  private start(work: Promise<unknown>): void {
    this.running.add(work);
    work.then(() => this.running.delete(work), this.failed.reject);
  }
}
