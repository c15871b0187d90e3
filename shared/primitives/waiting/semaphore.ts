import { untilAborted } from './until-aborted.ts';

/** Gives out a limited number of permits, in the order in which they were requested. */
export class Semaphore {
  private readonly waiting = new Set<() => void>();
  private free: number;

  constructor(private readonly permits: number) {
    this.free = permits;
  }

  /** Whether nobody holds a permit or waits for one. */
  get isIdle(): boolean {
    return this.free === this.permits;
  }

  /** Returns with a permit, which the caller holds until `release`. @throws when the signal aborts before */
  async acquire(signal?: AbortSignal): Promise<void> {
    if (this.free > 0) {
      this.free -= 1;
      return;
    }
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const give = () => {
      resolve(undefined);
    };
    this.waiting.add(give);
    try {
      await untilAborted(promise, signal);
    } catch (error) {
      if (!this.waiting.delete(give)) this.release();
      throw error;
    }
  }

  /** Takes a permit if more than `spared` are free, and returns whether it did. */
  tryAcquire(spared = 0): boolean {
    if (this.free <= spared) return false;
    this.free -= 1;
    return true;
  }

  release(): void {
    const [next] = this.waiting;
    if (next) {
      this.waiting.delete(next);
      next();
    } else this.free += 1;
  }
}
