/**
 * After this many answers at a limit found by halving, tries a value between the limit and the least that was refused.
 */
const ANSWERS_BEFORE_NARROWING = 10;
/**
 * After this many answers at a limit that is known well, doubles it: the provider may have raised its limit. Earlier
 * refusals are forgotten then, and each answer doubles the limit again.
 */
const ANSWERS_BEFORE_DOUBLING = 100;
/** A limit is known well when it is this close to the least that was refused. */
const CLOSE = 1 / 8;

/**
 * Learns how much may be requested at once from what was answered and what was refused. E.g. of 1,000 blocks refused
 * and 500 answered, it tries 750 after ten answers.
 */
export class LearnedLimit {
  private limit: number;
  /** The largest request that was answered. */
  private answeredMost = 0;
  /** The smallest request that was refused. */
  private refusedLeast = Infinity;
  private answersAtLimit = 0;
  /** Whether the last change doubled the limit, and nothing was refused since. */
  private isRising = false;

  constructor(private readonly max: number) {
    this.limit = max;
  }

  /** Never less than 1. */
  get value(): number {
    return this.limit;
  }

  /**
   * Lowers the limit below what was requested, unless that was 1.
   * @param next what would be answered, if known; else half of what was requested, or what was answered before
   * @param isExact whether nothing above `next` will be answered
   */
  refused(asked: number, next?: number, isExact = false): void {
    const known = next !== undefined && next < asked ? Math.max(1, next) : undefined;
    this.refusedLeast = Math.min(this.refusedLeast, isExact && known !== undefined ? known + 1 : asked);
    if (this.answeredMost >= this.refusedLeast) this.answeredMost = 0;
    const lower = known ?? Math.max(this.answeredMost, Math.floor(asked / 2));
    this.limit = Math.max(1, Math.min(this.limit, lower));
    this.answersAtLimit = 0;
    this.isRising = false;
  }

  answered(asked: number): void {
    this.answeredMost = Math.max(this.answeredMost, asked);
    if (asked >= this.refusedLeast) this.refusedLeast = Infinity;
    if (asked < this.limit) return;
    this.answersAtLimit += 1;
    const gap = this.refusedLeast - this.limit;
    const isKnownWell = gap <= Math.max(1, this.limit * CLOSE) || this.refusedLeast === Infinity;
    const enough = isKnownWell ? ANSWERS_BEFORE_DOUBLING : ANSWERS_BEFORE_NARROWING;
    if (!this.isRising && this.answersAtLimit < enough) return;
    this.answersAtLimit = 0;
    this.isRising = isKnownWell;
    if (isKnownWell) this.refusedLeast = Infinity;
    this.limit = Math.min(this.max, isKnownWell ? this.limit * 2 : this.limit + Math.floor(gap / 2));
  }
}
