import { untilAborted } from '../../../shared/primitives/until-aborted.ts';

/** Gives out a limited number of permits, in the order in which they were requested. */
export class Semaphore {
  private readonly waiting: (() => void)[] = [];

  constructor(private free: number) {}

  /**
   * Returns with a permit, which the caller holds until `release`. All callers share one signal and give up together.
   */
  async acquire(signal: AbortSignal): Promise<void> {
    if (this.free > 0) {
      this.free -= 1;
      return;
    }
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.waiting.push(() => {
      resolve(undefined);
    });
    await untilAborted(promise, signal);
  }

  release(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.free += 1;
  }
}
