import type { JsonObject } from '../../schemas/json.ts';
import { pause } from '../primitives/pause.ts';
import { WorkerCalls } from '../primitives/worker-calls.ts';
import type { QueryBudget } from '../read-store/query-budget.ts';
import { QuerySlots } from '../read-store/query-slots.ts';
import type { UserDocument } from '../read-models/users.ts';
import type { FoldWork, HistoryAnswer, HistoryWork, Lines, LinesWork, OpenWork } from './history-work.ts';

/** On a busy machine a piece takes longer than it works. */
const REST_MS_MAX = 20;

/**
 * Decrypts, hashes and folds histories in a thread of its own, and lets one piece of work of a history be done at a time:
 * of those that wait, the one goes on whose caller has used least of late.
 */
export class HistoryThread {
  private readonly slots = new QuerySlots(1);
  private readonly calls = new WorkerCalls<HistoryWork, HistoryAnswer>({
    program: new URL('./history-worker', import.meta.url),
    name: 'histories',
  });

  /**
   * Runs a piece of work, with the reads that it needs, when it has its turn. After it the next waits as long as it took, so
   * that half of the time is left for everybody else, however much is asked for. @throws as `check` of the budget
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

  async fold(work: Omit<FoldWork, 'kind'>): Promise<UserDocument | undefined> {
    return (await this.calls.call({ kind: 'fold', ...work })) as UserDocument | undefined;
  }

  async open(work: Omit<OpenWork, 'kind'>): Promise<JsonObject[]> {
    return (await this.calls.call({ kind: 'open', ...work })) as JsonObject[];
  }

  close(): Promise<void> {
    return this.calls.close();
  }
}
