/** An endpoint that stays at fault is left alone for twice as long each time, and at most for so long. */
const QUARANTINE_MAX_MS = 300_000;
/** An endpoint that has failed so often since it last answered is not even asked besides another one that answers. */
const FAILURES_IN_A_ROW_MAX = 3;
/** How much one more measurement counts. */
const NEWEST_WEIGHT = 0.3;

/** Whether an endpoint can be trusted, and how quick it is, from its answers. Times are those of `performance.now()`. */
export class EndpointHealth {
  /** Of requests for its head, which are small everywhere. `undefined` until one was measured. */
  latencyMs: number | undefined;
  /** It is asked after all others until then. */
  quarantinedUntilMs = 0;
  private quarantineMs = 0;
  private failuresInARow = 0;

  constructor(private readonly firstQuarantineMs: number) {}

  measured(latencyMs: number): void {
    const before = this.latencyMs ?? latencyMs;
    this.latencyMs = before + NEWEST_WEIGHT * (latencyMs - before);
  }

  /** Whether asking it would only take time. */
  isGivenUp(nowMs: number): boolean {
    return nowMs < this.quarantinedUntilMs && this.failuresInARow >= FAILURES_IN_A_ROW_MAX;
  }

  succeeded(nowMs: number): void {
    this.failuresInARow = 0;
    // Until it has answered for that long, its next failure counts as one more.
    if (nowMs > this.quarantinedUntilMs + this.quarantineMs) this.quarantineMs = 0;
    this.quarantinedUntilMs = Math.min(this.quarantinedUntilMs, nowMs);
  }

  failed(nowMs: number): void {
    this.failuresInARow += 1;
    // Requests that were under way together count as one failure.
    if (nowMs >= this.quarantinedUntilMs) {
      this.quarantineMs = Math.max(this.firstQuarantineMs, Math.min(QUARANTINE_MAX_MS, 2 * this.quarantineMs));
    }
    this.quarantinedUntilMs = nowMs + this.quarantineMs;
  }
}
