/** Many filters match a round number of logs by chance, and no provider is known to have so low a maximum. */
const ROUND_LEAST = 10;
/** How often a probe covers more blocks than the one before. */
const WIDER_MAX = 4;

/**
 * The numbers of logs in the answers of an endpoint. Some providers silently truncate answers to a maximum. An answer is
 * certainly whole if the endpoint has returned a longer one. An answer of a round number of logs may still be truncated:
 * behind one address there may be several nodes, each with a maximum of its own.
 */
export class AnswerLengths {
  private longest = 0;
  /** The maximum of the endpoint, once an answer was found to be truncated; a longer answer disproves it. */
  private most: number | undefined;
  /** By round length: how many answers were whole, or assumed to be. */
  private readonly whole = new Map<number, number>();
  private toProbe = 0;
  private probes = 0;

  /** @param others answers that are truncated to no more logs than these ones */
  constructor(private readonly others?: AnswerLengths) {}

  /**
   * Records an answer of that many logs.
   * @returns `longest` or `round` if the caller must check whether the answer was truncated. Of round lengths, which
   * a longer answer was received for, that is the first, second, fourth and so on of each length.
   */
  received(length: number): 'whole' | 'longest' | 'round' | 'cut' {
    const isLonger = this.isLongerThan(length);
    if (length > this.longest) this.longest = length;
    if (this.most !== undefined && length > this.most) this.most = undefined;
    if (length === 0) return 'whole';
    if (length === this.most || length === this.others?.most) return 'cut';
    if (!isLonger) return 'longest';
    if (length < ROUND_LEAST || !isRound(length)) return 'whole';
    const nth = (this.whole.get(length) ?? 0) + 1;
    if (isPowerOfTwo(nth)) return 'round';
    this.wasWhole(length);
    return 'whole';
  }

  /** Whether the endpoint has returned more logs than this in one answer. */
  isLongerThan(length: number): boolean {
    return this.longest > length || this.others?.isLongerThan(length) === true;
  }

  /**
   * Records that an answer of a round number of logs was checked and whole. Until then, concurrent answers of the same
   * length are checked too.
   */
  wasWhole(length: number): void {
    this.whole.set(length, (this.whole.get(length) ?? 0) + 1);
  }

  /** Records that an answer of this length was truncated. */
  cut(length: number): void {
    this.most = length;
  }

  /**
   * Decides, for an answer as long as the longest, whether to ask for a longer one: for the first, second, fourth and so
   * on.
   * @returns how often that was done before, at most 4; `undefined` if it is not to be done now
   */
  probe(): number | undefined {
    this.toProbe += 1;
    if (!isPowerOfTwo(this.toProbe)) return undefined;
    this.probes += 1;
    return Math.min(this.probes - 1, WIDER_MAX);
  }
}

const isPowerOfTwo = (count: number): boolean => (count & (count - 1)) === 0;

/** 100, 250, 2,000, 8,000; 256, 4,096. */
const isRound = (length: number): boolean =>
  /^(?:[1-9]0+|250*)$/.test(String(length)) || Number.isInteger(Math.log2(length));
