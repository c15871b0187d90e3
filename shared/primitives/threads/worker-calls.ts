import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { unavailable } from '../../errors/refusal.ts';

interface CallFailed {
  message: string;
  errcode: number | undefined;
}

/** A worker's answer to a call. */
export type CallAnswer<Answer> = { answer: Answer } | { failed: CallFailed };

interface Pending<Answer> {
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

interface WorkerCallsOptions {
  /** The URL of the worker's program, without its extension. */
  program: URL;
  workerData?: unknown;
  /** What the worker works on, in the plural, for error messages. */
  name: string;
}

/**
 * Calls into a worker thread, which answers them one after the other with `answerCalls`. The first call starts the
 * thread, and so does a call after the thread has ended, unless the thread was closed.
 */
export class WorkerCalls<Work, Answer> {
  private worker: Worker | undefined;
  private readonly pending: Pending<Answer>[] = [];
  private isClosed = false;

  constructor(private readonly options: WorkerCallsOptions) {}

  /**
   * @throws what the worker threw, with its message and `errcode`; Refusal dependency_unavailable if the worker ended or is closed
   */
  call(work: Work): Promise<Answer> {
    // Another thread would keep a process from ending whose work was broken off.
    if (this.isClosed) return Promise.reject(unavailable(`the thread of ${this.options.name} is closed`, undefined));
    const worker = (this.worker ??= this.start());
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.pending.push({ resolve, reject });
    worker.postMessage(work);
    return promise;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.worker?.terminate();
  }

  private start(): Worker {
    const { program, workerData } = this.options;
    // The build puts the program beside the file that names it, with the same extension as this file.
    const worker = new Worker(new URL(program.href + extname(import.meta.url)), { workerData });
    worker.unref();
    worker.on('message', (answered: CallAnswer<Answer>) => {
      const call = this.pending.shift();
      if ('answer' in answered) call?.resolve(answered.answer);
      else call?.reject(this.failure(answered.failed));
    });
    worker.on('error', (error) => {
      this.lose(worker, error);
    });
    worker.on('exit', () => {
      this.lose(worker, undefined);
    });
    return worker;
  }

  /** The next call starts another worker. */
  private lose(worker: Worker, cause: unknown): void {
    if (this.worker !== worker) return;
    this.worker = undefined;
    const error = unavailable(`the thread of ${this.options.name} ended`, cause);
    for (const { reject } of this.pending.splice(0)) reject(error);
  }

  private failure({ message, errcode }: CallFailed): Error {
    return Object.assign(new Error(`the thread of ${this.options.name} failed: ${message}`), { errcode });
  }
}
