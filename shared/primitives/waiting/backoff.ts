import { pause } from './pause.ts';

/**
 * Pauses between attempts. Each is twice as long as the one before, up to a maximum, and shortened by a random part of
 * up to a half, so that processes that failed together do not retry together.
 */
export class Backoff {
  private waitMs: number;

  constructor(
    private readonly firstMs: number,
    private readonly maxMs: number,
  ) {
    this.waitMs = firstMs;
  }

  /** The maximum length of the next pause. */
  get nextMs(): number {
    return this.waitMs;
  }

  /** Starts again with the first pause, after an attempt that made progress. */
  reset(): void {
    this.waitMs = this.firstMs;
  }

  /** Returns the length of the next pause in milliseconds, and doubles the one after it. */
  take(): number {
    const { waitMs } = this;
    this.waitMs = Math.min(waitMs * 2, this.maxMs);
    return waitMs * (0.5 + Math.random() / 2);
  }

  /** Returns early when the signal aborts. */
  async pause(signal?: AbortSignal): Promise<void> {
    await pause(this.take(), signal);
  }
}
