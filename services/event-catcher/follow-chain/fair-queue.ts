import type { Clock } from '../../../shared/primitives/clock.ts';

interface Entry {
  /** Number of the key's last turn, counted over the turns of all keys; 0 before the key's first turn. */
  servedAt: number;
  waitsUntil: number;
  /** Maximum wait after the key's next failure. The actual wait is random, and at least half of this. */
  retryMs: number;
  /** How many times in a row the key has failed. */
  failures: number;
  /** Number of the group with which the key shares turns. A group that failed may be split into two groups. */
  part: number;
}

/**
 * Decides which key, such as the id of a block range, has the next turn: the key that was served longest ago. A key
 * that failed waits before its next turn, twice as long after each failure in a row.
 */
export class FairQueue {
  private readonly entries = new Map<string, Entry>();
  private readonly neverServed: Entry;
  private served = 0;
  private parts = 0;

  constructor(
    private readonly clock: Pick<Clock, 'elapsed'>,
    private readonly retry: { firstMs: number; maxMs: number },
  ) {
    this.neverServed = { servedAt: 0, waitsUntil: 0, retryMs: retry.firstMs, failures: 0, part: 0 };
  }

  /** Returns the milliseconds until the key may have a turn; 0 or less if it may have one now. */
  waitMs(key: string): number {
    return this.entry(key).waitsUntil - this.clock.elapsed();
  }

  /** Returns how many times in a row the key has failed. */
  failures(key: string): number {
    return this.entry(key).failures;
  }

  isSamePart(key: string, other: string): boolean {
    return this.entry(key).part === this.entry(other).part;
  }

  /** Returns a negative number if the left key comes before the right key. */
  compare(left: string, right: string): number {
    return this.entry(left).servedAt - this.entry(right).servedAt;
  }

  begin(keys: Iterable<string>): void {
    this.served += 1;
    for (const key of keys) this.change(key, { servedAt: this.served });
  }

  succeeded(keys: Iterable<string>): void {
    for (const key of keys) this.change(key, { ...this.neverServed, servedAt: this.entry(key).servedAt });
  }

  /**
   * Notes that keys which shared a turn failed, and lets them wait.
   * @param isSplit whether each half of the keys has its own turns from now on, to find the key at fault
   */
  failed(keys: readonly string[], isSplit: boolean): void {
    const middle = isSplit ? Math.ceil(keys.length / 2) : keys.length;
    for (const half of [keys.slice(0, middle), keys.slice(middle)]) {
      this.parts += 1;
      for (const key of half) {
        const { retryMs, failures, part } = this.entry(key);
        this.change(key, {
          // A random wait, so that keys that failed together are not tried again at the same moment.
          waitsUntil: this.clock.elapsed() + retryMs * (0.5 + Math.random() / 2),
          retryMs: Math.min(2 * retryMs, this.retry.maxMs),
          failures: failures + 1,
          part: isSplit ? this.parts : part,
        });
      }
    }
  }

  /** Lets a key wait for `waitMs` before its next turn, whether it failed or not. */
  postpone(key: string, waitMs: number): void {
    this.change(key, { waitsUntil: this.clock.elapsed() + waitMs });
  }

  forget(key: string): void {
    this.entries.delete(key);
  }

  /** Forgets every key that is not in `keys`. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.entries.keys()) if (!keys.has(key)) this.forget(key);
  }

  private entry(key: string): Entry {
    return this.entries.get(key) ?? this.neverServed;
  }

  private change(key: string, changes: Partial<Entry>): void {
    this.entries.set(key, { ...this.entry(key), ...changes });
  }
}

/** Returns the item that `compare` puts before all others; `undefined` if there are no items. */
export const firstOf = <One>(all: readonly One[], compare: (left: One, right: One) => number): One | undefined =>
  all.reduce<One | undefined>(
    (first, one) => (first === undefined || compare(one, first) < 0 ? one : first),
    undefined,
  );
