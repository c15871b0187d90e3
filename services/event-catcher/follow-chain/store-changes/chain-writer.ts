import type { Clock } from '../../../../shared/primitives/clock.ts';
import { hasOnlyCovered, storedAt, type ChainProgress, type Transition } from '../../domain/chain-progress.ts';
import type { ChainRecords, RecordChanges } from './chain-records.ts';
import type { ProgressStream } from './progress-stream.ts';

/** That blocks of ranges were covered is told so often; everything else at once. */
const STORE_EVERY_MS = 1_000;

/** Records, and how far the chain is read with them. */
export interface Change extends RecordChanges {
  /** Absent: no further. */
  readonly transition?: Transition;
}

/** Decides on changes one by one: each is stored before it goes on, and it is given how far the chain is read then. */
export type Steps<Result = void> = AsyncGenerator<Change, Result, ChainProgress>;
/** The same, where nothing has to be asked. */
export type SyncSteps<Result = void> = Generator<Change, Result, ChainProgress>;

/**
 * How far one chain is read, and the only one who stores what was seen there: the records first, then the progress that
 * speaks of them. Those who decide run one at a time, so that none decides upon a value that another replaces.
 */
export class ChainWriter {
  private last: Promise<unknown> = Promise.resolve();
  private stored: ChainProgress | undefined;
  private storedAtMs = 0;

  constructor(
    private current: ChainProgress,
    private readonly records: ChainRecords,
    private readonly stream: ProgressStream,
    private readonly clock: Clock,
  ) {}

  get progress(): ChainProgress {
    return this.current;
  }

  /** Runs after all that came before. Once one has failed, all after it fail: the store is ahead of what is known here. */
  commit<Result>(decide: (progress: ChainProgress) => Steps<Result> | SyncSteps<Result>): Promise<Result> {
    const result = this.last.then(() => this.run(decide(this.current)));
    this.last = result;
    // Whoever asked hears of it; this only keeps the chain of promises from being reported as unhandled.
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
    this.current = next;
  }

  /** While something is unconfirmed the stored progress stays: it is what tells it from what was confirmed. */
  private isDue(): boolean {
    const { stored, current } = this;
    if (current === stored || !this.records.areConfirmed) return false;
    return !stored || !hasOnlyCovered(stored, current) || this.clock.now() - this.storedAtMs >= STORE_EVERY_MS;
  }

  private async storeProgress(): Promise<void> {
    this.storedAtMs = this.clock.now();
    this.current = storedAt(await this.stream.append(this.current))(this.current);
    this.stored = this.current;
  }
}
