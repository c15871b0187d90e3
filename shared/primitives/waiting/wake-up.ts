/**
 * Lets loops wait for a change without missing one: read `rung` before looking for changes, then wait for a higher
 * count.
 */
export class WakeUp {
  private count = 0;
  private readonly waiting = new Set<() => void>();

  /** How many times it has rung so far. */
  get rung(): number {
    return this.count;
  }

  get isAwaited(): boolean {
    return this.waiting.size > 0;
  }

  ring(): void {
    this.count += 1;
    for (const wake of [...this.waiting]) wake();
  }

  /** Returns when it has rung more than `seen` times, or the signal aborts. */
  async wait(seen: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.count > seen) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        signal.removeEventListener('abort', wake);
        this.waiting.delete(wake);
        resolve();
      };
      this.waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}

/** As `wait` of two, each with the count that was seen of it. */
export const whenEitherRings = async (
  [one, seenOfOne]: [WakeUp, number],
  [other, seenOfOther]: [WakeUp, number],
  signal: AbortSignal,
): Promise<void> => {
  const isOver = new AbortController();
  const end = () => {
    isOver.abort();
  };
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  await Promise.race([one.wait(seenOfOne, isOver.signal), other.wait(seenOfOther, isOver.signal)]);
  signal.removeEventListener('abort', end);
  end();
};
