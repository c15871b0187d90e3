import { limitedAtATime } from '../../../shared/edge/limits/rate-limits.ts';

/** Limits the number of concurrent members per key. */
export class AtATime<Member extends object | string> {
  private readonly membersByKey = new Map<string, Set<Member>>();

  constructor(
    private readonly max: number,
    /** What the limit counts, such as `connections of a user`. */
    private readonly what: string,
  ) {}

  /** @throws Refusal rate_limited */
  add(key: string, member: Member): void {
    const members = this.membersByKey.get(key) ?? new Set();
    if (members.size >= this.max) throw limitedAtATime(`${String(this.max)} ${this.what}`);
    this.membersByKey.set(key, members.add(member));
  }

  delete(key: string, member: Member): void {
    const members = this.membersByKey.get(key);
    if (members?.delete(member) && members.size === 0) this.membersByKey.delete(key);
  }
}
