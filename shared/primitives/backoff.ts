import { pause } from './pause.ts';

/**
 * Pauses between attempts: each twice as long as the one before up to a longest one, and up to half shorter by chance, so
 * that those who failed together do not come back together.
 */
export class Backoff {
  private waitMs: number;

  constructor(
    private readonly firstMs: number,
    private readonly maxMs: number,
  ) {
    this.waitMs = firstMs;
  }

  /** The next pause is no longer than this. */
  get nextMs(): number {
    return this.waitMs;
  }

  /** Begins again with the first: an attempt has got somewhere. */
  reset(): void {
    this.waitMs = this.firstMs;
  }

  /** Returns early when the signal aborts. */
  async pause(signal?: AbortSignal): Promise<void> {
    const { waitMs } = this;
    this.waitMs = Math.min(waitMs * 2, this.maxMs);
    await pause(waitMs * (0.5 + Math.random() / 2), signal);
  }
}
