/** Whoever is further behind than this is not caught up. */
const BEHIND_MAX_MS = 10_000;

/**
 * Says whether a reader keeps up with a head that moves on. Each time the head is asked for, the place where it was then
 * becomes a goal, to be reached within 10 s of the question. The newest goal whose outcome is known decides.
 */
export class CatchUpTracker<Head> {
  /** Not reached yet, oldest first. */
  private readonly goals: { head: Head; askedAtMs: number }[] = [];
  private askedAtMs = -Infinity;
  private isInTime = false;

  /** @param askedAtMs when the question was put, not when it was answered */
  headWas(head: Head, askedAtMs: number): void {
    this.goals.push({ head, askedAtMs });
    this.askedAtMs = askedAtMs;
  }

  /**
   * False while no outcome is known. A goal that was due before anybody looked again, and is reached by then, counts as
   * reached in time.
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
