const WORD_BYTES = 32;
const SIZE_MAX = 2n ** 32n;

/**
 * Reads ABI encodings from contracts and strangers. Solidity's decoder accepts whatever this accepts, with the same meaning.
 * Every method throws RangeError if the bytes do not fit. `at` counts words.
 */
export class AbiReader {
  constructor(private readonly bytes: Buffer) {}

  uint(at: number): bigint {
    return BigInt(`0x${this.word(at).toString('hex')}`);
  }

  content(at: number): Buffer {
    const tail = this.tail(at);
    const size = tail.size(0);
    const content = tail.bytes.subarray(WORD_BYTES, WORD_BYTES + size);
    if (content.length < size) throw new RangeError('cut off');
    return content;
  }

  private word(at: number): Buffer {
    const word = this.bytes.subarray(at * WORD_BYTES, (at + 1) * WORD_BYTES);
    if (word.length < WORD_BYTES) throw new RangeError('cut off');
    return word;
  }

  private size(at: number): number {
    const size = this.uint(at);
    if (size > SIZE_MAX) throw new RangeError('longer than anything');
    return Number(size);
  }

  private tail(at: number): AbiReader {
    return new AbiReader(this.bytes.subarray(this.size(at)));
  }
}

/** Returns the result of `read`; `undefined` if the bytes do not fit. */
export const readIfWellFormed = <Result>(read: () => Result): Result | undefined => {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
};
