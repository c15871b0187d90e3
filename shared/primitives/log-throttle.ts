const REPEATED_AFTER_MS = 30_000;
/** More messages than this at a time are not told apart any more. */
const MESSAGES_MAX = 100;

/** An outage is reported once in 30 s, not at every attempt: what comes between is for the debug level. */
export class LogThrottle {
  private readonly saidAt = new Map<string, number>();

  /** Whether this message is to be reported now. */
  isDue(message: string): boolean {
    const nowMs = performance.now();
    if (nowMs - (this.saidAt.get(message) ?? -Infinity) < REPEATED_AFTER_MS) return false;
    if (this.saidAt.size === MESSAGES_MAX) this.saidAt.clear();
    this.saidAt.set(message, nowMs);
    return true;
  }
}
