import { extname } from 'node:path';
import { setEnvironmentData, Worker } from 'node:worker_threads';
import type { Foundation, WithKeyVault } from '../../shared/host/foundation.ts';
import type { HealthReport } from '../../shared/host/health.ts';
import type { RunningPart } from '../../shared/host/running-part.ts';
import type { CheckpointProgress } from '../../shared/loops/checkpoint-loops.ts';
import { PROCESS_NAME, THIS_PROCESS } from '../../shared/loops/lease-holder.ts';
import {
  STARTED,
  type Answer,
  type Asked,
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
 * The workers in threads of their own, with engines of their own: in a process that does all the work, read models and
 * messages would else take half of the time of who serves requests. It ends the process if one fails as nothing in it expects.
 */
export const startWorkers = async (foundation: Keys): Promise<Record<WorkerName, RunningPart>> => {
  // Leases belong to the process, whichever thread has them.
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
  // The build has it beside this file, with the same extension as this one.
  const program = new URL(`./worker-program${extname(import.meta.url)}`, import.meta.url);
  const thread = new AskedThread(worker, new Worker(program, { workerData }));
  await thread.answerTo(STARTED);
  return {
    health: () => thread.ask('health') as Promise<HealthReport>,
    checkpoints: { progress: () => thread.ask('progress') as Promise<CheckpointProgress[]> },
    close: () => thread.close(),
  };
};

/** Asks a worker, and gets an answer to each question. */
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

  /** Closes it at the first call, and returns when it has ended. */
  close(): Promise<void> {
    return (this.closing ??= this.ask('close').then(() => this.ended));
  }

  private theEnd(): Error {
    return new Error(`the thread of the ${this.name} has ended`);
  }
}
