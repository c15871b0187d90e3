import type { QueryBudget } from './query-budget.ts';
import { CallerUsage } from './query-slots.ts';
import { QueryThread } from './query-thread.sqlite.ts';
import type { Slice, Work } from './query-worker.sqlite.ts';

/** Whoever has used more than this of late shares a thread with others who have. */
const MUCH_MS = 200;

/** Two threads that read one file: nobody waits for a slice of somebody who asks for what takes long, or for very much. */
export class QueryThreads {
  private readonly usage = new CallerUsage();
  private readonly ofAll: QueryThread;
  private readonly ofMuch: QueryThread;

  constructor(file: string) {
    this.ofAll = new QueryThread(file, this.usage);
    this.ofMuch = new QueryThread(file, this.usage);
  }

  /** @throws as `slice` of a thread */
  slice(work: Work, budget: QueryBudget): Promise<Slice> {
    const thread = this.usage.of(budget.caller) > MUCH_MS ? this.ofMuch : this.ofAll;
    return thread.slice(work, budget);
  }

  async close(): Promise<void> {
    await Promise.all([this.ofAll.close(), this.ofMuch.close()]);
  }
}
