import { Semaphore } from '../../../shared/primitives/waiting/semaphore.ts';

/** Runs a limited number of tasks per key concurrently, in the order of their arrival. */
export class LimitedByKey {
  private readonly byKey = new Map<string, Semaphore>();

  constructor(private readonly max: number) {}

  /** @throws when the signal aborts before the task starts, and what the task throws */
  async run<Result>(key: string, signal: AbortSignal, task: () => Promise<Result>): Promise<Result> {
    signal.throwIfAborted();
    const permits = this.byKey.get(key) ?? new Semaphore(this.max);
    this.byKey.set(key, permits);
    try {
      await permits.acquire(signal);
      try {
        return await task();
      } finally {
        permits.release();
      }
    } finally {
      if (permits.isIdle) this.byKey.delete(key);
    }
  }
}
