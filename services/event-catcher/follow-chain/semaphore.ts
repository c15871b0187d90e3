import { untilAborted } from '../../../shared/primitives/until-aborted.ts';

/** So many places at a time, given in the order they were asked for. */
export class Semaphore {
  private readonly waiting: (() => void)[] = [];

  constructor(private free: number) {}

  /** Returns when there is a place; it is the caller's until `release`. All who wait share one signal and give up together. */
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
