/** No provider is known that cuts an answer to fewer logs than 25: shorter ones than this are whole. */
const CUT_LEAST = 10;

/**
 * How many logs the answers of an endpoint have. Some providers return so many at most, without a word about the others. An
 * answer cannot be one of those that they cut if a longer one came; unless it has a round number of logs, since behind one
 * address there may be several nodes, each with a maximum of its own.
 */
export class AnswerLengths {
  private longest = 0;
  /** The most logs that it returns, once an answer was found to be cut. */
  private most: number | undefined;
  /** How many answers of a length that may be cut were whole, or taken for that. */
  private readonly whole = new Map<number, number>();

  /**
   * Takes note of an answer. `perhaps` is to be found out: of answers of one length for the first one, the second, the fourth and so on,
   * since where blocks have logs like clockwork, all answers have the same length.
   * @param isAgain it is of blocks that are read for the last time: every answer that is as long as the longest is to be looked at
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

  /** An answer that may have been cut was found to be whole. Until then, others of its length that were asked for meanwhile may be cut. */
  wasWhole(length: number): void {
    this.whole.set(length, (this.whole.get(length) ?? 0) + 1);
  }

  /** An answer of this length was found to be cut. */
  cut(length: number): void {
    this.most = length;
  }
}

/** 100, 250, 2,000, 8,000; 256, 4,096. */
const isRound = (length: number): boolean =>
  /^(?:[1-9]0+|250*)$/.test(String(length)) || Number.isInteger(Math.log2(length));
