import { extname } from 'node:path';
import { setEnvironmentData, Worker } from 'node:worker_threads';
import type { Foundation, WithKeyVault } from '../../shared/host/foundation.ts';
import type { HealthReport } from '../../shared/host/health/health.ts';
import type { RunningPart } from '../../shared/host/running-part.ts';
import type { CheckpointProgress } from '../../shared/loops/checkpoint-loops.ts';
import { PROCESS_NAME, THIS_PROCESS } from '../../shared/loops/lease-holder.ts';
import {
  STARTED,
  type Answer,
  type Asked,
  type MeasuredNow,
  type Question,
  type ThreadData,
  type WorkerName,
} from './thread-messages.ts';

type Keys = Pick<Foundation & WithKeyVault, 'settings' | 'masterKey' | 'edgeKey'>;

interface Pending {
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Runs the workers in threads of their own, with engines of their own. In a single thread, read models and messages
 * would take half of the time from serving requests. An unexpected failure of a worker ends the process.
 */
export const startWorkers = async (foundation: Keys): Promise<Record<WorkerName, RunningPart>> => {
  // Leases belong to the process, whichever thread holds them.
  setEnvironmentData(PROCESS_NAME, THIS_PROCESS);
  const outcomes = await Promise.allSettled([startThread('projector', foundation), startThread('relay', foundation)]);
  const [projector, relay] = outcomes;
  if (projector.status === 'fulfilled' && relay.status === 'fulfilled')
    return { projector: projector.value, relay: relay.value };
  for (const outcome of outcomes) if (outcome.status === 'fulfilled') await outcome.value.close();
  throw outcomes.find((outcome) => outcome.status === 'rejected')?.reason;
};

const startThread = async (worker: WorkerName, { settings, masterKey, edgeKey }: Keys): Promise<RunningPart> => {
  const workerData: ThreadData = { worker, settings, masterKey, edgeKey };
  // The build puts the program beside this file, with the same extension.
  const program = new URL(`./worker-program${extname(import.meta.url)}`, import.meta.url);
  const thread = new AskedThread(worker, new Worker(program, { workerData }));
  await thread.answerTo(STARTED);
  let asking: Promise<MeasuredNow[]> | undefined;
  /** Asks once for all metrics of a scrape, which are read at the same time. */
  const measuredNow = () =>
    (asking ??= (thread.ask('measured') as Promise<MeasuredNow[]>).finally(() => {
      asking = undefined;
    }));
  const measured = (await measuredNow()).map(({ values: _, ...named }) => ({
    ...named,
    read: async () => (await measuredNow()).find(({ name }) => name === named.name)?.values ?? [],
  }));
  return {
    health: () => thread.ask('health') as Promise<HealthReport>,
    checkpoints: { progress: () => thread.ask('progress') as Promise<CheckpointProgress[]> },
    measured,
    close: () => thread.close(),
  };
};

/** A worker that answers questions, each with one answer. */
class AskedThread {
  private readonly pending = new Map<number, Pending>();
  private readonly ended: Promise<void>;
  private hasEnded = false;
  private closing: Promise<void> | undefined;
  private asked = STARTED;

  constructor(
    private readonly name: WorkerName,
    private readonly worker: Worker,
  ) {
    worker.on('message', ({ id, ...answer }: Answer) => {
      const { resolve, reject } = this.pending.get(id) ?? {};
      this.pending.delete(id);
      if ('error' in answer) reject?.(answer.error);
      else resolve?.(answer.value);
    });
    this.ended = new Promise((resolve) => {
      worker.once('exit', () => {
        this.hasEnded = true;
        for (const { reject } of this.pending.values()) reject(this.theEnd());
        resolve();
        if (!this.closing && !this.pending.has(STARTED)) throw this.theEnd();
      });
    });
  }

  ask(asked: Asked): Promise<unknown> {
    if (this.hasEnded) return Promise.reject(this.theEnd());
    this.asked += 1;
    this.worker.postMessage({ id: this.asked, asked } satisfies Question);
    return this.answerTo(this.asked);
  }

  answerTo(id: number): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.pending.set(id, { resolve, reject });
    return promise;
  }

  /** Closes the worker at the first call, and returns when it has ended. */
  close(): Promise<void> {
    return (this.closing ??= this.ask('close').then(() => this.ended));
  }

  private theEnd(): Error {
    return new Error(`the thread of the ${this.name} has ended`);
  }
}
