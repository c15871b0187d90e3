import { WakeUp } from '../../primitives/waiting/wake-up.ts';

/** A queue without capacity: `put` waits until the next item is taken. */
export class SynchronousQueue<Item> {
  private waiting: { item: Item; done: () => void } | undefined;
  private taken: (() => void) | undefined;
  private failure: Error | undefined;
  private isOver = false;
  private readonly changed = new WakeUp();

  /** Returns once the item was processed, or the queue has ended. */
  async put(item: Item): Promise<void> {
    if (this.isOver) return;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.waiting = { item, done: () => resolve(undefined) };
    this.changed.ring();
    await promise;
  }

  /** Ends the queue: no further item is taken. */
  end(): void {
    this.isOver = true;
    this.waiting?.done();
    this.taken?.();
  }

  /** Makes every `take` fail from now on. */
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
