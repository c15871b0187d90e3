import { limitedAtATime } from '../../../shared/edge/rate-limits.ts';

/** Bounds what each key has at a time. */
export class AtATime<Member extends object | string> {
  private readonly membersByKey = new Map<string, Set<Member>>();

  constructor(
    private readonly max: number,
    /** Such as `connections of a user`. */
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
