/** Maximum quarantine. Each further failure doubles the quarantine up to this time. */
const QUARANTINE_MAX_MS = 300_000;
/** After this many failures in a row, an endpoint is not even asked in addition to one that answers. */
const FAILURES_IN_A_ROW_MAX = 3;
/** Weight of a new latency measurement in the moving average. */
const NEWEST_WEIGHT = 0.3;

/** Health and latency of an endpoint, from its answers. Times are those of `performance.now()`. */
export class EndpointHealth {
  /** Measured by requests for the head, whose answers are small everywhere. `undefined` before the first. */
  latencyMs: number | undefined;
  /** Until then, the endpoint is asked after all others. */
  quarantinedUntilMs = 0;
  private quarantineMs = 0;
  private failuresInARow = 0;
  private failedAtMs = -Infinity;

  constructor(private readonly firstQuarantineMs: number) {}

  measured(latencyMs: number): void {
    const before = this.latencyMs ?? latencyMs;
    this.latencyMs = before + NEWEST_WEIGHT * (latencyMs - before);
  }

  /** Whether a request would only waste time. */
  isGivenUp(nowMs: number): boolean {
    return nowMs < this.quarantinedUntilMs && this.failuresInARow >= FAILURES_IN_A_ROW_MAX;
  }

  succeeded(nowMs: number): void {
    this.failuresInARow = 0;
    // Until the endpoint has answered for that long, its next failure counts as a further one.
    if (nowMs > this.quarantinedUntilMs + this.quarantineMs) this.quarantineMs = 0;
    this.quarantinedUntilMs = Math.min(this.quarantinedUntilMs, nowMs);
  }

  /** @param askedAtMs when the request began. Requests in progress at one failure count as one. */
  failed(nowMs: number, askedAtMs = nowMs): void {
    if (askedAtMs >= this.failedAtMs) {
      this.failuresInARow += 1;
      this.failedAtMs = nowMs;
    }
    if (nowMs >= this.quarantinedUntilMs) {
      this.quarantineMs = Math.max(this.firstQuarantineMs, Math.min(QUARANTINE_MAX_MS, 2 * this.quarantineMs));
    }
    this.quarantinedUntilMs = nowMs + this.quarantineMs;
  }
}
