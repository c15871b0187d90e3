/** A reader that lags more than this is not caught up. */
const BEHIND_MAX_MS = 10_000;

/**
 * Tracks whether a reader keeps up with a growing head. Each query of the head makes its position a goal, which must be
 * reached within 10 s of the query. The newest decided goal determines the result.
 */
export class CatchUpTracker<Head> {
  /** Goals not decided yet, oldest first. */
  private readonly goals: { head: Head; askedAtMs: number }[] = [];
  private askedAtMs = 0;
  private isInTime = false;

  /** @param askedAtMs when the query was sent, not when it was answered */
  headWas(head: Head, askedAtMs: number): void {
    this.goals.push({ head, askedAtMs });
    this.askedAtMs = askedAtMs;
  }

  /**
   * Returns false before the first decision. A goal that became due between two calls, and is reached at the second,
   * counts as reached in time.
   */
  isCaughtUp(hasReached: (head: Head) => boolean, nowMs: number): boolean {
    for (let goal = this.goals[0]; goal; goal = this.goals[0]) {
      const isReached = hasReached(goal.head);
      if (!isReached && nowMs - goal.askedAtMs < BEHIND_MAX_MS) break;
      this.isInTime = isReached;
      this.goals.shift();
    }
    return this.isInTime && nowMs - this.askedAtMs < BEHIND_MAX_MS;
  }
}
