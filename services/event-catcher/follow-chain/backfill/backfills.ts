import { appOfClaimant } from '../../../../shared/chain/identifiers/claimant.ts';
import { BlocksRefused, ChainUnavailable, RangeTooLarge } from '../../../../shared/chain/chain-reader.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import { Semaphore } from '../../../../shared/primitives/waiting/semaphore.ts';
import { WakeUp } from '../../../../shared/primitives/waiting/wake-up.ts';
import { ChunkSize } from '../../domain/backfill/chunk-size.ts';
import { allRanges, findRange, lastBlockOf, rangeId, type Range } from '../../domain/backfill/coverage.ts';
import { FairQueue, firstOf } from '../fair-queue.ts';
import { isToRead } from './ranges-to-read.ts';
import { RangeReader, type BackfillDependencies } from './range-reader.ts';
import { leaveUnread } from '../unread-blocks/leave-unread.ts';
import {
  countRefusal,
  isAnswering,
  isRefusedLongEnough,
  withRemedy,
  type Refusals,
} from '../unread-blocks/refusals.ts';

/**
 * How many chunks (the blocks of one request) all backfills of a chain may have in memory at a time, each from its
 * request until it is stored.
 */
const CHUNKS_AT_ONCE = 5;
const READINGS_AT_ONCE = 8;
/**
 * How many ranges that failed last time may be tried at a time: they may hang again, and must not hold up other ranges.
 */
const FAILED_AT_ONCE = 1;
/** After this time the turn of the ranges being read ends, if other ranges wait. */
const READING_MS = 2_000;
/** How long a range waits after its watch was paused here: by then the follower usually has read the pause's event. */
const STOPPED_MS = 1_000;
/** The first and the longest wait of a range that failed. A provider that answers again is noticed within `maxMs`. */
const RETRY = { firstMs: 200, maxMs: 5_000 };
const BOUNDED_MS = 30_000;
/** After this time gaps, which are blocks that providers refused, are requested again. */
const GAP_RETRY_MS = 3_600_000;

/** What is known of an unfinished range, apart from how far it has been read. */
interface Known {
  size: ChunkSize;
  /**
   * Whether the range, which extends its watch to earlier blocks, has reached the watch's maximum of records or blocks.
   * It is read on at once when the operator lifts this maximum.
   */
  isBounded: boolean;
  refusals: Refusals | undefined;
}

type Dependencies = Omit<BackfillDependencies, 'chunks'> & { clock: Clock };

/**
 * Reads all unfinished ranges of a chain's blocks in turns. Ranges that begin and end at the same blocks are read
 * together. The app that was served longest ago comes first, so that no app's ranges hold up another's. The life of a
 * range:
 *
 *     added or resumed ──▶ waiting ◀── the turn is over, or the provider failed ──┐
 *                             │ its turn                                          │
 *                             ▼                                                   │
 *                          reading: requests chunks, and stores them in order ────┤
 *                             │                                                   │
 *                             ├─▶ blocks refused for good: they become a gap, ────┘
 *                             │   tried again after GAP_RETRY_MS; the rest of the range goes on
 *                             ▼
 *                          finished: if the range reaches up to the head, its watch is read there from now on
 *
 * At any time `SlotAllocator` may defer a range that is not being read: that range has no turns until it is resumed.
 */
export class Backfills {
  /** Rings when a turn has ended, after which finished ranges may free slots for others, and when `wake` is called. */
  readonly readingEnded = new WakeUp();
  private readonly chunks = new Semaphore(CHUNKS_AT_ONCE);
  /** Decides whose turn is next. Keys are ids of ranges, and ids of apps. */
  private readonly queue: FairQueue;
  private readonly known = new Map<string, Known>();
  /** Ids of the ranges that are being read. */
  private readonly reading = new Set<string>();
  private readonly readings = new Set<Promise<void>>();
  private retries = 0;

  constructor(private readonly dependencies: Dependencies) {
    this.queue = new FairQueue(dependencies.clock, RETRY);
  }

  isReading(range: Range): boolean {
    return this.reading.has(rangeId(range));
  }

  /** Whether the last attempt to read the range failed. */
  isFailing(range: Range): boolean {
    return this.queue.failures(rangeId(range)) > 0;
  }

  /** Lets `run` look at once for ranges to read. */
  wake(): void {
    this.readingEnded.ring();
  }

  /** Reads ranges until the signal aborts, and tries again when providers fail. @throws any other error */
  async run(signal: AbortSignal): Promise<void> {
    const failed = Promise.withResolvers<never>();
    // `Promise.race` below handles a rejection of `failed.promise`. Until it runs, this handler keeps the rejection
    // from counting as unhandled.
    failed.promise.catch(() => undefined);
    try {
      while (!signal.aborted) {
        const seen = this.readingEnded.rung;
        for (let group = this.next(); group.length > 0; group = this.next()) this.start(group, signal, failed.reject);
        this.meterRanges();
        const due = AbortSignal.timeout(Math.ceil(this.nextDueMs()));
        await Promise.race([this.readingEnded.wait(seen, AbortSignal.any([signal, due])), failed.promise]);
      }
    } finally {
      await Promise.all(this.readings);
      this.dependencies.meter.ranges = { reading: 0, waiting: 0 };
      // Another process may follow the chain from now on: this process no longer reports errors of the chain's watches.
      for (const { watchId } of allRanges(this.dependencies.writer.progress))
        this.dependencies.meter.succeeded(watchId);
    }
  }

  private meterRanges(): void {
    const { chain, meter, writer } = this.dependencies;
    const toRead = writer.progress.backfills.filter(
      (range) => !range.gap && !this.reading.has(rangeId(range)) && isToRead(range, writer.progress, chain),
    );
    meter.ranges = { reading: this.reading.size, waiting: toRead.length };
  }

  /** Returns the ranges that are read together in the next turn; empty if no other range can be read now. */
  private next(): Range[] {
    if (this.readings.size >= READINGS_AT_ONCE) return [];
    const waiting = this.waiting();
    const first = firstOf(waiting, (left, right) => this.compare(left, right));
    if (!first) return [];
    const { window } = this.dependencies.writer.progress;
    const end = lastBlockOf(window, first);
    const others = waiting.filter(
      (range) =>
        range !== first &&
        range.next === first.next &&
        range.joins === first.joins &&
        (range.joins ? lastBlockOf(window, range) === end : range.to === first.to) &&
        this.queue.isSamePart(rangeId(range), rangeId(first)),
    );
    return [first, ...others];
  }

  /** Returns the ranges that may have a turn now and are not being read. */
  private waiting(): Range[] {
    const { chain, writer } = this.dependencies;
    const { progress } = writer;
    return progress.backfills.filter((range) => {
      const isFreed = this.knownOf(range).isBounded && chain.watches.now(range.watchId)?.isUnbounded === true;
      const mayFail = !this.isFailing(range) || this.retries < FAILED_AT_ONCE;
      return (
        mayFail &&
        (isFreed || this.queue.waitMs(rangeId(range)) <= 0) &&
        !this.reading.has(rangeId(range)) &&
        isToRead(range, progress, chain)
      );
    });
  }

  private compare(left: Range, right: Range): number {
    const { queue } = this;
    return queue.compare(this.appOf(left), this.appOf(right)) || queue.compare(rangeId(left), rangeId(right));
  }

  private appOf({ watchId }: Range): string {
    const { chain, writer } = this.dependencies;
    return appOfClaimant(chain.watches.get(writer.progress, watchId).claims[0] ?? '');
  }

  private knownOf(range: Range): Known {
    const id = rangeId(range);
    const known = this.known.get(id) ?? { size: new ChunkSize(), isBounded: false, refusals: undefined };
    this.known.set(id, known);
    return known;
  }

  private start(group: readonly Range[], signal: AbortSignal, fail: (error: unknown) => void): void {
    const reading: Promise<void> = this.read(group, signal)
      .catch(fail)
      .finally(() => {
        this.readings.delete(reading);
        this.readingEnded.ring();
      });
    this.readings.add(reading);
  }

  private async read(group: readonly Range[], signal: AbortSignal): Promise<void> {
    const { clock, writer } = this.dependencies;
    const [first] = group;
    if (!first) return;
    const isRetry = this.isFailing(first);
    if (isRetry) this.retries += 1;
    const { size } = this.knownOf(first);
    const ids = group.map(rangeId);
    const endsAt = clock.elapsed() + READING_MS;
    this.queue.begin([...ids, ...group.map((range) => this.appOf(range))]);
    for (const id of ids) this.reading.add(id);
    for (const range of group) this.knownOf(range).size = size;
    const isOver = () => clock.elapsed() >= endsAt && this.waiting().length > 0;
    try {
      const reader = new RangeReader({ ...this.dependencies, chunks: this.chunks }, group, size, isOver);
      await reader.run(signal);
      this.succeeded(group);
      for (const range of reader.stopped) this.queue.postpone(rangeId(range), STOPPED_MS);
      for (const range of reader.bounded) this.knownOf(range).isBounded = true;
      this.failedFor(reader.bounded, BOUNDED_MS);
    } catch (error) {
      if (!(error instanceof ChainUnavailable || error instanceof RangeTooLarge)) throw error;
      await this.failed(group, error);
    } finally {
      if (isRetry) this.retries -= 1;
      for (const id of ids) this.reading.delete(id);
      for (const range of group) if (!findRange(writer.progress, range)) this.forget(range);
    }
  }

  private succeeded(ranges: readonly Range[]): void {
    this.queue.succeeded(ranges.map(rangeId));
    for (const range of ranges) Object.assign(this.knownOf(range), { isBounded: false, refusals: undefined });
  }

  /** Notes that ranges cannot be read now, and lets them wait for `waitMs` before they are tried again. */
  private failedFor(ranges: readonly Range[], waitMs: number): void {
    this.queue.failed(ranges.map(rangeId), false);
    for (const range of ranges) this.queue.postpone(rangeId(range), waitMs);
  }

  private forget(range: Range): void {
    this.known.delete(rangeId(range));
    this.queue.forget(rangeId(range));
    this.dependencies.meter.succeeded(range.watchId);
  }

  /**
   * Leaves blocks unread (as gaps) that were refused for good, or else schedules the ranges of a failed turn for a
   * retry. Splits the ranges in two halves to find the range at fault, unless no provider answers, or every provider
   * has pruned the blocks.
   */
  private async failed(group: readonly Range[], error: Error): Promise<void> {
    const { chain, meter, clock, writer } = this.dependencies;
    const unread = group.flatMap((range) => findRange(writer.progress, range) ?? []);
    for (const range of unread) {
      const counted = { error, block: range.next, nowMs: clock.elapsed() };
      const known = this.knownOf(range);
      known.refusals = countRefusal(known.refusals, counted);
    }
    if (error instanceof BlocksRefused && (await this.makeGaps(unread, error))) return;
    const isOfBlocks = error instanceof BlocksRefused && error.refusal.isPrunedEverywhere;
    const isTheirFault = group.length > 1 && !isOfBlocks && (await isAnswering(chain.reader));
    // If the ranges are split, none of them gets the error yet: it is not known which range is at fault.
    for (const { watchId, gap } of unread) {
      if (isTheirFault) meter.succeeded(watchId);
      else if (!gap) meter.failed(watchId, withRemedy(error));
    }
    this.queue.failed(group.map(rangeId), isTheirFault);
  }

  /**
   * Marks the next blocks of ranges as gaps, which are left unread, once providers have refused these blocks for good.
   * The ranges then continue after the gaps. A gap that is refused again waits another `GAP_RETRY_MS`.
   * @returns whether the blocks are gaps now
   */
  private async makeGaps(ranges: readonly Range[], error: BlocksRefused): Promise<boolean> {
    const { clock, meter } = this.dependencies;
    const mayBecomeGap = (range: Range) => {
      const { refusals } = this.knownOf(range);
      return (
        range.gap !== undefined || (refusals !== undefined && isRefusedLongEnough(refusals, error, clock.elapsed()))
      );
    };
    if (ranges.length === 0 || !ranges.every(mayBecomeGap)) return false;
    try {
      const gaps = await leaveUnread(this.dependencies, ranges, error);
      this.succeeded(ranges);
      for (const { watchId } of ranges) meter.succeeded(watchId);
      this.failedFor(gaps, GAP_RETRY_MS);
      return gaps.length > 0;
    } catch (thrown) {
      if (thrown instanceof ChainUnavailable) return false;
      throw thrown;
    }
  }

  /** Returns the milliseconds until a range that waits may be read, at most `RETRY.maxMs`. */
  private nextDueMs(): number {
    const waits = this.dependencies.writer.progress.backfills.map((range) => this.queue.waitMs(rangeId(range)));
    return waits.reduce((least, ms) => (ms > 0 && ms < least ? ms : least), RETRY.maxMs);
  }
}
