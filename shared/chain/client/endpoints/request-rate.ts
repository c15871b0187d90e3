/** Pause after a refusal that names no time. Each further refusal in a row doubles it. */
const PAUSE_MS = 1_000;
/** Maximum pause, whatever the endpoint asks for, so that its recovery is noticed within this time. */
const PAUSE_MAX_MS = 5_000;
/** Interval between requests after the first refusal. */
const FIRST_INTERVAL_MS = 20;
const INTERVAL_MAX_MS = 1_000;
/**
 * After this long without a refusal, each answer halves the interval, so that the longest interval is gone two seconds
 * later.
 */
const CALM_MS = 4_000;
/** Below this, requests are not spaced at all. */
const INTERVAL_MIN_MS = 4;

/**
 * Limits the request rate of an endpoint, learned from its refusals. A refusal says something about the rate only if
 * there was an answer since the last refusal: an endpoint that refuses everything is asked after a pause, at the same
 * rate. Times are those of `performance.now()`.
 */
export class RequestRate {
  private intervalMs = 0;
  /** The interval at the end of the last calm time, to which a faster rate falls back when it is refused. 0: none. */
  private calmIntervalMs = 0;
  /** When the next request may be sent. */
  private nextAtMs = 0;
  private refusedAtMs = -Infinity;
  private slowedAtMs = -Infinity;
  private refusalsInARow = 0;

  /** How long a request made now would have to wait. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.nextAtMs - nowMs);
  }

  /** Reserves the slot of the next request. Returns how long the caller has to wait for it. */
  take(nowMs: number): number {
    const waitMs = this.waitMs(nowMs);
    this.nextAtMs = nowMs + waitMs + this.intervalMs;
    return waitMs;
  }

  answered(nowMs: number): void {
    this.refusalsInARow = 0;
    if (this.intervalMs === 0 || nowMs < this.refusedAtMs + CALM_MS) return;
    if (this.calmIntervalMs === 0) this.calmIntervalMs = this.intervalMs;
    this.intervalMs = this.intervalMs > INTERVAL_MIN_MS ? this.intervalMs / 2 : 0;
    this.nextAtMs = Math.min(this.nextAtMs, nowMs + this.intervalMs);
  }

  /** @param madeAtMs when the request was made: refusals of concurrent requests count once */
  refused(madeAtMs: number, nowMs: number, namedMs?: number): void {
    this.refusedAtMs = nowMs;
    if (madeAtMs >= this.slowedAtMs) {
      this.slowedAtMs = nowMs;
      this.refusalsInARow += 1;
      if (this.refusalsInARow === 1) this.slowDown();
    }
    this.nextAtMs = Math.max(this.nextAtMs, nowMs + this.pauseMs(namedMs));
  }

  private slowDown(): void {
    const slower = Math.max(FIRST_INTERVAL_MS, 2 * this.intervalMs);
    this.intervalMs = this.calmIntervalMs || Math.min(INTERVAL_MAX_MS, slower);
    this.calmIntervalMs = 0;
  }

  /**
   * The pause after a refusal: the time that the endpoint names, or 1 s, at most 5 s. Each refusal in a row doubles the
   * least pause (none named: 1, 2, 4 s; named: 0, 1, 2, 4 s), because an endpoint may name 0 each time.
   */
  private pauseMs(namedMs: number | undefined): number {
    const doublings = Math.max(1, this.refusalsInARow) - (namedMs === undefined ? 1 : 2);
    const leastMs = doublings < 0 ? 0 : PAUSE_MS * 2 ** doublings;
    return Math.min(PAUSE_MAX_MS, Math.max(namedMs ?? 0, leastMs));
  }
}
