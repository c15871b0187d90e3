import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { unavailable } from '../errors/refusal.ts';
import { damageIn } from '../primitives/damage/damaged-files.ts';
import { isBusy, isCorrupt } from '../primitives/database.sqlite.ts';
import type { QueryBudget } from './query-budget.ts';
import { QuerySlots, type CallerUsage } from './query-slots.ts';
import type { Slice, Work, WorkFailed } from './query-worker.sqlite.ts';

interface Pending {
  resolve: (slice: Slice) => void;
  reject: (error: unknown) => void;
}

/**
 * Queries of one file in a thread of their own, so that none holds up whoever serves requests. SQLite cannot be interrupted
 * from here: a query is made of short runs, and after each it can end, or another can have its turn.
 */
export class QueryThread {
  private readonly slots: QuerySlots;
  private worker: Worker | undefined;
  private pending: Pending | undefined;

  constructor(
    private readonly file: string,
    usage?: CallerUsage,
  ) {
    this.slots = new QuerySlots(1, usage);
  }

  /**
   * Runs a statement with one list of parameters after the other, for some milliseconds. @throws as `check` of the budget;
   * Refusal dependency_unavailable when the file cannot be read
   */
  slice(work: Work, budget: QueryBudget): Promise<Slice> {
    return this.slots.run(budget, () => this.ask(work));
  }

  async close(): Promise<void> {
    await this.worker?.terminate();
  }

  private ask(work: Work): Promise<Slice> {
    const worker = (this.worker ??= this.start());
    const { promise, resolve, reject } = Promise.withResolvers<Slice>();
    this.pending = { resolve, reject };
    worker.postMessage(work);
    return promise;
  }

  private start(): Worker {
    // The build has it beside this file, with the same extension as this one.
    const program = new URL(`./query-worker.sqlite${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(program, { workerData: { file: this.file } });
    worker.unref();
    worker.on('message', (answer: Slice | WorkFailed) => {
      if ('rows' in answer) this.pending?.resolve(answer);
      else this.pending?.reject(this.explained(answer));
    });
    worker.on('error', (error) => {
      this.lose(worker, error);
    });
    worker.on('exit', () => {
      this.lose(worker, undefined);
    });
    return worker;
  }

  private explained(failed: WorkFailed): Error {
    if (isBusy(failed)) return unavailable(`${this.file} is locked`, failed);
    return isCorrupt(failed) ? damageIn(this.file, failed.message, failed) : failure(failed);
  }

  /** The next query starts another worker. */
  private lose(worker: Worker, cause: unknown): void {
    if (this.worker !== worker) return;
    this.worker = undefined;
    this.pending?.reject(unavailable('the thread of queries ended', cause));
  }
}

const failure = ({ message, errcode }: WorkFailed): Error =>
  Object.assign(new Error(`a query failed: ${message}`), { errcode });
