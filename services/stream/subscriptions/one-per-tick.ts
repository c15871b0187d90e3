/**
 * Lets callers go on one after the other, one in each tick of the event loop: long work is done in pieces, and however
 * many do such work, everybody else waits for one piece at most.
 */
export class OnePerTick {
  private readonly waiting: (() => void)[] = [];

  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const isFirst =
      this.waiting.push(() => {
        resolve(undefined);
      }) === 1;
    if (isFirst) this.schedule();
    return promise;
  }

  private schedule(): void {
    setImmediate(() => {
      this.waiting.shift()?.();
      if (this.waiting.length > 0) this.schedule();
    });
  }
}
