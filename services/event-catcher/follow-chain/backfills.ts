import { appOfClaimant } from '../../../shared/chain/claimant.ts';
import { BlocksRefused, ChainUnavailable, RangeTooLarge } from '../../../shared/chain/chain-reader.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { Semaphore } from '../../../shared/primitives/semaphore.ts';
import { WakeUp } from '../../../shared/primitives/wake-up.ts';
import { ChunkSize } from '../domain/chunk-size.ts';
import { allRanges, findRange, lastBlockOf, rangeId, type Range } from '../domain/coverage.ts';
import { isToRead } from './ranges-to-read.ts';
import { RangeReading, type BackfillDependencies } from './range-reading.ts';
import { withRemedy } from './remedy.ts';
import { leaveUnread } from './unread-blocks/leave-unread.ts';
import { countRefusal, isRefusedLongEnough, type Refusals } from './unread-blocks/refusals.ts';

/** How many chunks of blocks all backfills of a chain may have in memory at a time, from their request until they are stored. */
const CHUNKS_AT_ONCE = 5;
const READINGS_AT_ONCE = 8;
/** Ranges that failed last time may hang again: they have one turn at a time, so that the others go on. */
const FAILED_AT_ONCE = 1;
/** After that, ranges that wait for their turn have it. */
const READING_MS = 2_000;
/** So long it takes at most, as a rule, until a pause that was stored here is known. */
const STOPPED_MS = 1_000;
const RETRY_FIRST_MS = 200;
/** A provider that refuses ranges is seen to answer them again within this time. */
const RETRY_MAX_MS = 5_000;
const BOUNDED_MS = 30_000;
/** Blocks that no provider had are tried again. */
const GAP_RETRY_MS = 3_600_000;

/** What is known of a range beside how far it was read, as long as it is unfinished. */
interface Waits {
  /** When it had its last turn; 0: never. */
  servedAt: number;
  size: ChunkSize;
  /** How long it waits after its next failure; `undefined` if it did not fail last time. */
  retryMs: number | undefined;
  waitsUntil: number;
  /** Whether it is an extension that met a bound of its watch. Once that has none, it waits no longer. */
  isBounded: boolean;
  refusals: Refusals | undefined;
  /** Ranges that failed together and were parted are read together with their own part only. */
  part: number;
}

const NEVER_FAILED = { retryMs: undefined, isBounded: false, refusals: undefined, part: 0 };

type Dependencies = Omit<BackfillDependencies, 'chunks'> & { clock: Clock };

/**
 * Reads all unfinished ranges of a chain, those that begin at the same block together. They have turns: first those of the app
 * that waits longest, so that nobody's ranges hold up another's.
 */
export class Backfills {
  /** Rings when a turn has ended: ranges may be finished, so that there is room for others. */
  readonly readingEnded = new WakeUp();
  private readonly chunks = new Semaphore(CHUNKS_AT_ONCE);
  private readonly known = new Map<string, Waits>();
  private readonly servedApps = new Map<string, number>();
  /** Ids of the ranges that have a turn. */
  private readonly reading = new Set<string>();
  private readonly readings = new Set<Promise<void>>();
  private retries = 0;
  private parts = 0;
  private served = 0;

  constructor(private readonly dependencies: Dependencies) {}

  isReading(range: Range): boolean {
    return this.reading.has(rangeId(range));
  }

  /** Whether a range could not be read last time. */
  isFailing(range: Range): boolean {
    return this.known.get(rangeId(range))?.retryMs !== undefined;
  }

  /** Tells that there may be more ranges. */
  lookAgain(): void {
    this.readingEnded.ring();
  }

  /** Returns when the signal has aborted. @throws if something fails but the chain */
  async run(signal: AbortSignal): Promise<void> {
    const failed = Promise.withResolvers<never>();
    // It is raced with below. If there is no race then, this keeps it from being unhandled.
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
      // Another process may follow the chain from here on.
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

  /** The ranges whose turn it is; none if no more may be read now. */
  private next(): Range[] {
    if (this.readings.size >= READINGS_AT_ONCE) return [];
    const [first, ...others] = this.waiting();
    if (!first) return [];
    const { progress } = this.dependencies.writer;
    const { window } = progress;
    const part = this.of(first).part;
    const end = lastBlockOf(window, first);
    return [
      first,
      ...others.filter(
        (range) =>
          range.next === first.next &&
          range.joins === first.joins &&
          (range.joins ? lastBlockOf(window, range) === end : range.to === first.to) &&
          this.of(range).part === part,
      ),
    ];
  }

  /** Those that are to have a turn, the one that comes first at the beginning, the others in no order. */
  private waiting(): Range[] {
    const now = this.dependencies.clock.elapsed();
    const { chain, writer } = this.dependencies;
    const { progress } = writer;
    const waiting = progress.backfills.filter((range) => {
      const { waitsUntil, retryMs, isBounded } = this.of(range);
      const isFreed = isBounded && chain.watches.now(range.watchId)?.isUnbounded === true;
      const mayFail = retryMs === undefined || this.retries < FAILED_AT_ONCE;
      return (
        mayFail &&
        (waitsUntil <= now || isFreed) &&
        !this.reading.has(rangeId(range)) &&
        isToRead(range, progress, chain)
      );
    });
    let first = 0;
    for (let at = 1; at < waiting.length; at += 1) if (this.isBefore(waiting[at], waiting[first])) first = at;
    const chosen = waiting[first];
    return chosen ? [chosen, ...waiting.toSpliced(first, 1)] : [];
  }

  private isBefore(left: Range | undefined, right: Range | undefined): boolean {
    if (!left || !right) return false;
    const apps = this.servedAppAt(left) - this.servedAppAt(right);
    return apps < 0 || (apps === 0 && this.of(left).servedAt < this.of(right).servedAt);
  }

  private servedAppAt(range: Range): number {
    return this.servedApps.get(this.appOf(range)) ?? 0;
  }

  private appOf({ watchId }: Range): string {
    const { chain, writer } = this.dependencies;
    return appOfClaimant(chain.watches.of(writer.progress, watchId).claims[0] ?? '');
  }

  private of(range: Range): Waits {
    const id = rangeId(range);
    const known = this.known.get(id);
    if (known) return known;
    const made = { servedAt: 0, size: new ChunkSize(), waitsUntil: 0, ...NEVER_FAILED };
    this.known.set(id, made);
    return made;
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
    const isRetry = this.of(first).retryMs !== undefined;
    if (isRetry) this.retries += 1;
    const { size } = this.of(first);
    const ids = group.map(rangeId);
    const endsAt = clock.elapsed() + READING_MS;
    this.served += 1;
    for (const range of group) {
      this.reading.add(rangeId(range));
      this.servedApps.set(this.appOf(range), this.served);
      Object.assign(this.of(range), { servedAt: this.served, size });
    }
    const isOver = () => clock.elapsed() >= endsAt && this.waiting().length > 0;
    try {
      const reading = new RangeReading({ ...this.dependencies, chunks: this.chunks }, group, size, isOver);
      await reading.run(signal);
      for (const range of group) Object.assign(this.of(range), NEVER_FAILED);
      for (const range of reading.stopped) this.of(range).waitsUntil = clock.elapsed() + STOPPED_MS;
      const bounded = { retryMs: RETRY_MAX_MS, waitsUntil: clock.elapsed() + BOUNDED_MS, isBounded: true };
      for (const range of reading.bounded) Object.assign(this.of(range), bounded);
    } catch (error) {
      if (!(error instanceof ChainUnavailable || error instanceof RangeTooLarge)) throw error;
      await this.failed(group, error);
    } finally {
      if (isRetry) this.retries -= 1;
      for (const id of ids) this.reading.delete(id);
      for (const range of group) if (!findRange(writer.progress, range)) this.forget(range);
    }
  }

  private forget(range: Range): void {
    this.known.delete(rangeId(range));
    this.dependencies.meter.succeeded(range.watchId);
  }

  /**
   * Turns refused blocks into gaps, or else schedules the ranges for a retry. Splits them in two halves to find the one at fault, unless
   * no provider answers, or every provider has pruned the blocks.
   */
  private async failed(group: readonly Range[], error: Error): Promise<void> {
    const { chain, meter, clock, writer } = this.dependencies;
    const unread = group.flatMap((range) => findRange(writer.progress, range) ?? []);
    for (const range of unread) {
      const counted = { error, block: range.next, nowMs: clock.elapsed() };
      this.of(range).refusals = countRefusal(this.of(range).refusals, counted);
    }
    if (error instanceof BlocksRefused && (await this.leave(unread, error))) return;
    const isOfBlocks = error instanceof BlocksRefused && error.refusal.isPrunedEverywhere;
    const isTheirFault =
      group.length > 1 &&
      !isOfBlocks &&
      (await chain.reader.head().then(
        () => true,
        () => false,
      ));
    // Of those that are parted it is not known yet whose fault it is.
    for (const { watchId, gap } of unread) {
      if (isTheirFault) meter.succeeded(watchId);
      else if (!gap) meter.failed(watchId, withRemedy(error));
    }
    const middle = isTheirFault ? Math.ceil(group.length / 2) : group.length;
    for (const half of [group.slice(0, middle), group.slice(middle)]) {
      this.parts += 1;
      for (const range of half) {
        const waits = this.of(range);
        const retryMs = waits.retryMs ?? RETRY_FIRST_MS;
        if (isTheirFault) waits.part = this.parts;
        waits.waitsUntil = clock.elapsed() + retryMs * (0.5 + Math.random() / 2);
        waits.retryMs = Math.min(2 * retryMs, RETRY_MAX_MS);
      }
    }
  }

  /**
   * Turns the next blocks of ranges into gaps once they are refused for good, so that the ranges continue after them. A gap that is
   * refused again waits another `GAP_RETRY_MS`. @returns whether there are such gaps now
   */
  private async leave(ranges: readonly Range[], error: BlocksRefused): Promise<boolean> {
    const { clock, meter } = this.dependencies;
    const mayBecomeGap = (range: Range) => {
      const { refusals } = this.of(range);
      return (
        range.gap !== undefined || (refusals !== undefined && isRefusedLongEnough(refusals, error, clock.elapsed()))
      );
    };
    if (ranges.length === 0 || !ranges.every(mayBecomeGap)) return false;
    try {
      const gaps = await leaveUnread(this.dependencies, ranges, error);
      for (const range of ranges) {
        Object.assign(this.of(range), NEVER_FAILED);
        meter.succeeded(range.watchId);
      }
      const waitsUntil = clock.elapsed() + GAP_RETRY_MS;
      for (const gap of gaps) Object.assign(this.of(gap), { retryMs: GAP_RETRY_MS, waitsUntil });
      return gaps.length > 0;
    } catch (thrown) {
      if (thrown instanceof ChainUnavailable) return false;
      throw thrown;
    }
  }

  /** When a range that failed may be read again. */
  private nextDueMs(): number {
    const now = this.dependencies.clock.elapsed();
    const waits = this.dependencies.writer.progress.backfills.map((range) => this.of(range).waitsUntil - now);
    return waits.reduce((least, ms) => (ms > 0 && ms < least ? ms : least), RETRY_MAX_MS);
  }
}
