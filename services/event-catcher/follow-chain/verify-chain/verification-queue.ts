import type { Clock } from '../../../../shared/primitives/clock.ts';

const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 300_000;
/** Who failed so often in a row is not held up for a moment only. */
const FAILURES_OF_MOMENTS = 2;

/** What is known of blocks that are to be compared, by the key of what they are of. */
interface Waits {
  /** When they had their last turn; 0: never. */
  servedAt: number;
  waitsUntil: number;
  retryMs: number;
  /** How often it has failed in a row. */
  failures: number;
  /** What failed together and was parted is compared with its own part only. */
  part: number;
  /** As many blocks are compared at a time at most. */
  blocksMost: number;
}

const NEVER_SERVED: Waits = {
  ...{ servedAt: 0, waitsUntil: 0, retryMs: 0, failures: 0, part: 0 },
  blocksMost: Number.MAX_SAFE_INTEGER,
};

/** Decides who is next: who waits longest, but who failed waits for a while, and longer each time. */
export class VerificationQueue {
  private readonly waits = new Map<string, Waits>();
  private served = 0;
  private parts = 0;

  constructor(
    private readonly clock: Pick<Clock, 'elapsed'>,
    private readonly everyMs: number,
  ) {}

  isDue(key: string): boolean {
    return this.of(key).waitsUntil <= this.clock.elapsed();
  }

  standsStill(key: string): boolean {
    return this.of(key).failures > FAILURES_OF_MOMENTS;
  }

  isPartOf(key: string, other: string): boolean {
    return this.of(key).part === this.of(other).part;
  }

  blocksMost(key: string): number {
    return this.of(key).blocksMost;
  }

  /**
   * Some of their blocks are refused: fewer are compared next time, down to one. What is compared meanwhile of others does not change
   * that.
   */
  refused(keys: readonly string[], blocks: number): void {
    for (const key of keys) this.waits.set(key, { ...this.of(key), blocksMost: Math.max(1, Math.floor(blocks / 2)) });
  }

  /** Returns the one that waits longest; of several the one whose next block is the first. */
  first<One extends { key: string; next: number }>(all: readonly One[]): One | undefined {
    return all.reduce<One | undefined>((first, one) => {
      const served = first ? this.of(one.key).servedAt - this.of(first.key).servedAt : -1;
      return served < 0 || (served === 0 && one.next < (first?.next ?? 0)) ? one : first;
    }, undefined);
  }

  begin(keys: readonly string[]): void {
    this.served += 1;
    for (const key of keys) this.waits.set(key, { ...this.of(key), servedAt: this.served });
  }

  succeeded(keys: readonly string[]): void {
    for (const key of keys) {
      const { servedAt, blocksMost } = this.of(key);
      this.waits.set(key, { ...NEVER_SERVED, servedAt, blocksMost: Math.min(2 * blocksMost, NEVER_SERVED.blocksMost) });
    }
  }

  /** @param isParted whether they are compared in two parts from now on */
  failed(keys: readonly string[], isParted: boolean): void {
    const middle = isParted ? Math.ceil(keys.length / 2) : keys.length;
    for (const half of [keys.slice(0, middle), keys.slice(middle)]) {
      this.parts += 1;
      for (const key of half) {
        const { servedAt, part, retryMs: lastMs, failures, blocksMost } = this.of(key);
        const retryMs = Math.min(RETRY_MAX_MS, Math.max(2 * lastMs, Math.min(RETRY_FIRST_MS, this.everyMs)));
        const waitsUntil = this.clock.elapsed() + retryMs * (0.5 + Math.random() / 2);
        const ofPart = isParted ? this.parts : part;
        this.waits.set(key, { servedAt, part: ofPart, waitsUntil, retryMs, failures: failures + 1, blocksMost });
      }
    }
  }

  /** Forgets all but these. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.waits.keys()) if (!keys.has(key)) this.waits.delete(key);
  }

  private of(key: string): Waits {
    return this.waits.get(key) ?? NEVER_SERVED;
  }
}
