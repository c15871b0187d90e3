const REPEATED_AFTER_MS = 30_000;
/** Beyond this many different messages, forgets all of them. */
const MESSAGES_MAX = 100;

/** Reports an outage once in 30 s, not at every attempt. Repeats in between go to the debug level. */
export class LogThrottle {
  private readonly loggedAt = new Map<string, number>();

  /** Whether this message must be reported now. */
  isDue(message: string): boolean {
    const nowMs = performance.now();
    if (nowMs - (this.loggedAt.get(message) ?? -Infinity) < REPEATED_AFTER_MS) return false;
    if (this.loggedAt.size === MESSAGES_MAX) this.loggedAt.clear();
    this.loggedAt.set(message, nowMs);
    return true;
  }
}
