import type { JsonObject } from '../../schemas/json.ts';
import { pause } from '../primitives/waiting/pause.ts';
import { WorkerCalls } from '../primitives/threads/worker-calls.ts';
import type { QueryBudget } from '../read-store/query-budget.ts';
import { QuerySlots } from '../read-store/query-slots.ts';
import type { HistoryAnswer, HistoryWork, Lines, LinesWork, OpenWork } from './history-work.ts';

/** Maximum rest after a piece. On a busy machine, a piece takes longer than its own work. */
const REST_MS_MAX = 20;

/**
 * Decrypts and hashes histories in a thread of its own, one piece of work at a time. Of the waiting pieces, the
 * next is that of the caller with the least recent usage.
 */
export class HistoryThread {
  private readonly slots = new QuerySlots(1);
  private readonly calls = new WorkerCalls<HistoryWork, HistoryAnswer>({
    program: new URL('./history-worker', import.meta.url),
    name: 'histories',
  });

  /**
   * Runs a piece of work, including its reads, once its turn comes. Then rests as long as the piece took, which leaves
   * half of the time to everything else, however much is requested.
   * @throws as `check` of the budget
   */
  inSlot<Result>(budget: QueryBudget, piece: () => Promise<Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const run = async () => {
      const from = performance.now();
      resolve(await piece());
      await pause(Math.min(REST_MS_MAX, performance.now() - from));
    };
    this.slots.run(budget, run).catch(reject);
    return promise;
  }

  async lines(work: Omit<LinesWork, 'kind'>): Promise<Lines> {
    return (await this.calls.call({ kind: 'lines', ...work })) as Lines;
  }

  async open(work: Omit<OpenWork, 'kind'>): Promise<JsonObject[]> {
    return (await this.calls.call({ kind: 'open', ...work })) as JsonObject[];
  }

  close(): Promise<void> {
    return this.calls.close();
  }
}
