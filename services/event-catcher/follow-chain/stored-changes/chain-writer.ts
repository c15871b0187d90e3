import type { Clock } from '../../../../shared/primitives/clock.ts';
import { hasOnlyCovered, storedAt, type ChainProgress, type Transition } from '../../domain/chain-progress.ts';
import type { ChainRecords, RecordChanges } from './chain-records.ts';
import type { ProgressStream } from './progress-stream.ts';

/**
 * How often progress is stored that differs only in how far ranges were read; with many of them less often, because it lists
 * them all. Any other progress is stored at once.
 */
const STORE_EVERY_MS = 1_000;
const MANY_RANGES = 1_000;

/** Changes to the records of a chain, and the progress that they make. */
export interface Change extends RecordChanges {
  /** Absent if the progress stays as it is. */
  readonly transition?: Transition;
}

/** Yields changes one by one. Each is stored before the generator goes on, and the new progress is passed to it. */
export type Steps<Result = void> = AsyncGenerator<Change, Result, ChainProgress>;
/** The same, for steps that await nothing. */
export type SyncSteps<Result = void> = Generator<Change, Result, ChainProgress>;

/**
 * Holds the progress of one chain, and is the only writer of its records and progress: it stores the records first,
 * then what is set aside, then the progress that contains them. Commits run one at a time, so that none is based on progress that another
 * replaces.
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
   * Runs after all earlier commits. Once one has failed, all later ones fail, because more may be stored than this
   * writer knows.
   */
  commit<Result>(decide: (progress: ChainProgress) => Steps<Result> | SyncSteps<Result>): Promise<Result> {
    const result = this.lastCommit.then(() => this.run(decide(this.current)));
    this.lastCommit = result;
    // The caller gets the error. This only keeps `lastCommit` from being reported as an unhandled rejection.
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
    if (next.aside !== this.current.aside) await this.stream.appendAside(this.current.aside, next.aside);
    this.current = next;
  }

  /**
   * While records are unconfirmed, no progress is stored: after a crash, unconfirmed records are those stored after it.
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
