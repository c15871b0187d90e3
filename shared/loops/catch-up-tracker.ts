/** Who is further behind than this is not caught up. */
const BEHIND_MAX_MS = 10_000;

/**
 * Whether who follows a head that moves on keeps pace with it. Each time the head is asked for, where it was then is to be
 * reached within 10 s of the question; the newest of which it is known whether it was decides.
 */
export class Pace<Head> {
  /** Not reached yet, oldest first. */
  private readonly goals: { head: Head; askedAtMs: number }[] = [];
  private askedAtMs = -Infinity;
  private isInTime = false;

  /** @param askedAtMs when the question was put, not when it was answered */
  headWas(head: Head, askedAtMs: number): void {
    this.goals.push({ head, askedAtMs });
    this.askedAtMs = askedAtMs;
  }

  /** Not known means no. A goal that nobody looked at between its 10 s and its arrival counts as reached in time. */
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
