import { unavailable } from '../errors/refusal.ts';
import { damageIn } from '../primitives/damage/damaged-files.ts';
import { isBusy, isCorrupt } from '../primitives/database.sqlite.ts';
import { WorkerCalls } from '../primitives/worker-calls.ts';
import type { QueryBudget } from './query-budget.ts';
import { QuerySlots, type CallerUsage } from './query-slots.ts';
import type { Slice, Work } from './query-worker.sqlite.ts';

/**
 * Queries of one file in a thread of their own, so that none holds up whoever serves requests. SQLite cannot be interrupted
 * from here: a query is made of short runs, and after each it can end, or another can have its turn.
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
   * Runs a statement with one list of parameters after the other, for some milliseconds. @throws as `check` of the budget;
   * Refusal dependency_unavailable when the file cannot be read
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
