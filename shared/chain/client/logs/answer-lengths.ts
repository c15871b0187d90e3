/** Shorter answers are complete. The lowest known limit of a provider is 25 logs. */
const CUT_LEAST = 10;

/**
 * The numbers of logs in the answers of an endpoint. Some providers silently truncate answers to a maximum. An answer
 * cannot be truncated if a longer one was received, unless it has a round number of logs: behind one address there may
 * be several nodes, each with a maximum of its own.
 */
export class AnswerLengths {
  private longest = 0;
  /** The maximum of the endpoint, once an answer was found to be truncated. */
  private most: number | undefined;
  /** By length that may be truncated: how many answers were complete, or assumed to be. */
  private readonly whole = new Map<number, number>();

  /**
   * Records an answer. The caller must check an answer that is `perhaps` truncated. Of answers of one length, that is
   * the first, second, fourth and so on: where blocks have logs like clockwork, all answers have the same length.
   * @param isAgain whether the blocks are read for the last time: then every answer as long as the longest must be
   * checked
   */
  received(length: number, isAgain = false): 'whole' | 'perhaps' | 'cut' {
    const isLongest = length >= this.longest;
    if (isLongest) this.longest = length;
    if (this.most !== undefined && length > this.most) this.most = undefined;
    if (length < CUT_LEAST) return 'whole';
    if (length === this.most) return 'cut';
    if (!isLongest && !isRound(length)) return 'whole';
    const nth = (this.whole.get(length) ?? 0) + 1;
    const isPowerOfTwo = (nth & (nth - 1)) === 0;
    if (isPowerOfTwo || (isAgain && isLongest)) return 'perhaps';
    this.wasWhole(length);
    return 'whole';
  }

  /**
   * Records that an answer of this length was checked and complete. Until then, concurrent answers of the same length
   * are checked too.
   */
  wasWhole(length: number): void {
    this.whole.set(length, (this.whole.get(length) ?? 0) + 1);
  }

  /** Records that an answer of this length was truncated. */
  cut(length: number): void {
    this.most = length;
  }
}

/** 100, 250, 2,000, 8,000; 256, 4,096. */
const isRound = (length: number): boolean =>
  /^(?:[1-9]0+|250*)$/.test(String(length)) || Number.isInteger(Math.log2(length));
