import type { Clock } from '../../../../shared/primitives/clock.ts';
import { hasOnlyCovered, storedAt, type ChainProgress, type Transition } from '../../domain/chain-progress.ts';
import type { ChainRecords, RecordChanges } from './chain-records.ts';
import type { ProgressStream } from './progress-stream.ts';

/**
 * While only the read part of ranges grows, the progress is stored at most this often; with many ranges less often,
 * because each event lists all ranges. Any other change of the progress is stored at once.
 */
const STORE_EVERY_MS = 1_000;
const MANY_RANGES = 1_000;

/** Changes to the records (decoded logs) of a chain, and to its progress, which says how far it has been read. */
export interface Change extends RecordChanges {
  /** Returns the next progress; absent if the progress does not change. */
  readonly transition?: Transition;
}

/**
 * A generator that yields changes one by one. Each change is made before the generator continues with the new progress.
 */
export type Steps<Result = void> = AsyncGenerator<Change, Result, ChainProgress>;
/** Like `Steps`, for a generator that awaits nothing. */
export type SyncSteps<Result = void> = Generator<Change, Result, ChainProgress>;

/**
 * Holds the progress of one chain: how far it has been read. Only this class writes the chain's records and progress:
 * first the records, then the deferred ranges, then the progress, which relies on both. Commits run one at a time, and
 * each starts from the progress of the one before.
 */
export class ChainWriter {
  private lastCommit: Promise<unknown> = Promise.resolve();
  private stored: ChainProgress | undefined;
  private storedAtMs = 0;

  constructor(
    private current: ChainProgress,
    private readonly records: ChainRecords,
    private readonly stream: ProgressStream,
    private readonly clock: Pick<Clock, 'elapsed'>,
  ) {}

  get progress(): ChainProgress {
    return this.current;
  }

  /**
   * Makes the changes that `decide` yields, after all earlier commits. Once a commit has failed, all later commits
   * fail, because more may be stored than this writer knows.
   */
  commit<Result>(decide: (progress: ChainProgress) => Steps<Result> | SyncSteps<Result>): Promise<Result> {
    const result = this.lastCommit.then(() => this.run(decide(this.current)));
    this.lastCommit = result;
    // The caller gets the error. This handler only keeps a failed `lastCommit` from counting as an unhandled rejection.
    result.catch(() => undefined);
    return result;
  }

  private async run<Result>(steps: Steps<Result> | SyncSteps<Result>): Promise<Result> {
    let step = await steps.next();
    while (!step.done) {
      await this.store(step.value);
      step = await steps.next(this.current);
    }
    if (this.isDue()) await this.storeProgress();
    return step.value;
  }

  private async store({ transition, ...changes }: Change): Promise<void> {
    const next = transition?.(this.current) ?? this.current;
    await this.records.store(changes, this.current.position);
    const { deferred } = this.current;
    if (next.deferred !== deferred) await this.stream.deferred.append(deferred, next.deferred);
    this.current = next;
  }

  /**
   * Whether to store the progress now. Not while an earlier follower's records are unconfirmed: after a crash, only
   * records stored after the newest progress are checked again.
   */
  private isDue(): boolean {
    const { stored, current } = this;
    if (current === stored || !this.records.areConfirmed) return false;
    if (!stored || !hasOnlyCovered(stored, current)) return true;
    const everyMs = STORE_EVERY_MS * Math.max(1, current.backfills.length / MANY_RANGES);
    return this.clock.elapsed() - this.storedAtMs >= everyMs;
  }

  private async storeProgress(): Promise<void> {
    this.storedAtMs = this.clock.elapsed();
    this.current = storedAt(await this.stream.append(this.current))(this.current);
    this.stored = this.current;
  }
}
