/**
 * Admits one caller per tick. Long work is done in pieces, and however many callers do such work, everything else waits
 * for one piece at most.
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
