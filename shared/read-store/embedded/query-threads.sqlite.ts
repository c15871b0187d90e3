import { unavailable } from '../../errors/refusal.ts';
import { damageIn } from '../../primitives/sqlite/damage/damaged-files.ts';
import { isBusy, isCorrupt } from '../../primitives/sqlite/sqlite-errors.ts';
import { WorkerCalls } from '../../primitives/threads/worker-calls.ts';
import type { QueryBudget } from '../query-budget.ts';
import { CallerUsage, QuerySlots } from '../query-slots.ts';
import type { Slice, Work } from './query-worker.sqlite.ts';

/** A caller who has recently used more than this shares the second thread with other heavy callers. */
const MUCH_MS = 200;

/**
 * Queries of one file in a thread of their own, so that they do not block the thread that serves requests. SQLite
 * cannot be interrupted from another thread, so a query runs in short slices; after each slice it can end, or another
 * query gets its turn.
 */
export class QueryThread {
  private readonly slots: QuerySlots;
  private readonly calls: WorkerCalls<Work, Slice>;

  constructor(
    private readonly file: string,
    usage?: CallerUsage,
  ) {
    this.slots = new QuerySlots(1, usage);
    this.calls = new WorkerCalls({
      program: new URL('./query-worker.sqlite', import.meta.url),
      workerData: { file },
      name: 'queries',
    });
  }

  /**
   * Runs a statement with each list of parameters, for some milliseconds.
   * @throws as `check` of the budget; Refusal dependency_unavailable if the file cannot be read
   */
  slice(work: Work, budget: QueryBudget): Promise<Slice> {
    return this.slots.run(budget, () => this.ask(work));
  }

  close(): Promise<void> {
    return this.calls.close();
  }

  private async ask(work: Work): Promise<Slice> {
    try {
      return await this.calls.call(work);
    } catch (error) {
      if (isBusy(error)) throw unavailable(`${this.file} is locked`, error);
      throw isCorrupt(error) ? damageIn(this.file, (error as Error).message, error) : error;
    }
  }
}

/** Two threads that read one file, so that light callers never wait for a slice of a heavy one. */
export class QueryThreads {
  private readonly ofAll: QueryThread;
  private readonly ofMuch: QueryThread;

  constructor(
    file: string,
    private readonly usage = new CallerUsage(),
  ) {
    this.ofAll = new QueryThread(file, usage);
    this.ofMuch = new QueryThread(file, usage);
  }

  /** @throws as `slice` of a thread */
  slice(work: Work, budget: QueryBudget): Promise<Slice> {
    const thread = this.usage.recentMs(budget.caller) > MUCH_MS ? this.ofMuch : this.ofAll;
    return thread.slice(work, budget);
  }

  async close(): Promise<void> {
    await Promise.all([this.ofAll.close(), this.ofMuch.close()]);
  }
}
