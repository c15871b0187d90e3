/** How long after a refusal that names no time. Each further one in a row doubles it. */
const PAUSE_MS = 1_000;
/** However long an endpoint wants to be left alone: it is seen within this time that it takes requests again. */
const PAUSE_MAX_MS = 5_000;
/** Between requests after the first refusal. */
const FIRST_INTERVAL_MS = 20;
const INTERVAL_MAX_MS = 1_000;
/** After this long without a refusal each answer halves the interval, so that the longest one is forgotten in two more seconds. */
const CALM_MS = 4_000;
/** Shorter intervals are none. */
const INTERVAL_MIN_MS = 4;

/**
 * How fast an endpoint may be asked, learned from what it refused. A refusal tells something of the rate only if there was an answer
 * since the last one: an endpoint that refuses everything is asked after a pause, and at the same rate. Times are those of
 * `performance.now()`.
 */
export class RequestRate {
  private intervalMs = 0;
  /** The interval of the last calm time: a faster rate that is refused falls back to it. 0: none. */
  private calmIntervalMs = 0;
  /** When the next request may be made. */
  private nextAtMs = 0;
  private refusedAtMs = -Infinity;
  private slowedAtMs = -Infinity;
  private refusalsInARow = 0;

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

  answered(nowMs: number): void {
    this.refusalsInARow = 0;
    if (this.intervalMs === 0 || nowMs < this.refusedAtMs + CALM_MS) return;
    if (this.calmIntervalMs === 0) this.calmIntervalMs = this.intervalMs;
    this.intervalMs = this.intervalMs > INTERVAL_MIN_MS ? this.intervalMs / 2 : 0;
    this.nextAtMs = Math.min(this.nextAtMs, nowMs + this.intervalMs);
  }

  /** @param madeAtMs when the request was made: those that were under way together count once */
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
   * The pause after a refusal: the time that the endpoint names, or 1 s, at most 5 s. Each refusal in a row doubles the least pause (none
   * named: 1, 2, 4 s; named: 0, 1, 2, 4 s), because an endpoint may name 0 each time.
   */
  private pauseMs(namedMs: number | undefined): number {
    const doublings = Math.max(1, this.refusalsInARow) - (namedMs === undefined ? 1 : 2);
    const leastMs = doublings < 0 ? 0 : PAUSE_MS * 2 ** doublings;
    return Math.min(PAUSE_MAX_MS, Math.max(namedMs ?? 0, leastMs));
  }
}
