/** How long after a refusal that names no time. */
const PAUSE_MS = 1_000;
/** Between requests after the first refusal. */
const FIRST_INTERVAL_MS = 20;
const INTERVAL_MAX_MS = 5_000;
/** After so many answers at a rate, a faster one is tried. */
const ANSWERS_BEFORE_FASTER = 20;
const FASTER = 0.8;
/** Shorter intervals are none. */
const INTERVAL_MIN_MS = 4;

/** How fast an endpoint may be asked, learned from what it refused. Times are those of `performance.now()`. */
export class RequestRate {
  private intervalMs = 0;
  /** When the next request may be made. */
  private nextAtMs = 0;
  private slowedAtMs = -Infinity;
  private answers = 0;

  /** How long a request would have to wait that is made now. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.nextAtMs - nowMs);
  }

  /** Takes the next place of a request. Returns how long it has to wait for it. */
  take(nowMs: number): number {
    const waitMs = this.waitMs(nowMs);
    this.nextAtMs = nowMs + waitMs + this.intervalMs;
    return waitMs;
  }

  answered(): void {
    if (this.intervalMs === 0 || (this.answers += 1) < ANSWERS_BEFORE_FASTER) return;
    this.answers = 0;
    this.intervalMs = this.intervalMs > INTERVAL_MIN_MS ? this.intervalMs * FASTER : 0;
  }

  /** @param madeAtMs when the request was made: those that were under way together slow down once */
  refused(madeAtMs: number, nowMs: number, retryAfterMs = PAUSE_MS): void {
    this.nextAtMs = Math.max(this.nextAtMs, nowMs + retryAfterMs);
    this.answers = 0;
    if (madeAtMs < this.slowedAtMs) return;
    this.slowedAtMs = nowMs;
    this.intervalMs = Math.min(INTERVAL_MAX_MS, Math.max(FIRST_INTERVAL_MS, 2 * this.intervalMs));
  }
}
