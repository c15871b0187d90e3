import { WakeUp } from '../primitives/wake-up.ts';

/** A queue without room: whoever puts an item waits until the taker comes for the next one. */
export class SynchronousQueue<Item> {
  private waiting: { item: Item; done: () => void } | undefined;
  private taken: (() => void) | undefined;
  private failure: Error | undefined;
  private isOver = false;
  private readonly changed = new WakeUp();

  /** Returns when the taker has finished with it, or will not come back. */
  async put(item: Item): Promise<void> {
    if (this.isOver) return;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.waiting = { item, done: () => resolve(undefined) };
    this.changed.ring();
    await promise;
  }

  /** The taker will not come back. */
  end(): void {
    this.isOver = true;
    this.waiting?.done();
    this.taken?.();
  }

  /** From now on there is nothing to take. */
  fail(error: Error): void {
    this.failure ??= error;
    this.changed.ring();
  }

  /** @returns `undefined` when the signal aborts */
  async take(signal: AbortSignal): Promise<Item | undefined> {
    this.taken?.();
    this.taken = undefined;
    for (;;) {
      const seen = this.changed.rung;
      if (signal.aborted) return undefined;
      if (this.failure) throw this.failure;
      if (this.waiting) {
        const { item, done } = this.waiting;
        this.waiting = undefined;
        this.taken = done;
        return item;
      }
      await this.changed.wait(seen, signal);
    }
  }
}
