import { checksumAddress } from '../../../shared/chain/address.ts';

const WORD_BYTES = 32;
const ADDRESS_BYTES = 20;
const ADDRESS_BITS = 160n;
const SIZE_MAX = 2n ** 32n;

/**
 * Reads what contracts encoded, or strangers. Whatever it takes, Solidity's decoder takes too and understands in the same way.
 * Every method throws RangeError where the bytes do not fit. `at` counts words.
 */
export class AbiReader {
  constructor(private readonly bytes: Buffer) {}

  uint(at: number): bigint {
    return BigInt(`0x${this.word(at).toString('hex')}`);
  }

  /** EIP-55. */
  address(at: number): string {
    if (this.uint(at) >> ADDRESS_BITS !== 0n) throw new RangeError('more than an address');
    return checksumAddress(this.word(at).subarray(-ADDRESS_BYTES).toString('hex'));
  }

  content(at: number): Buffer {
    const tail = this.tail(at);
    const size = tail.size(0);
    const content = tail.bytes.subarray(WORD_BYTES, WORD_BYTES + size);
    if (content.length < size) throw new RangeError('cut off');
    return content;
  }

  /** Reads an array: what `read` returns for the place of each item. */
  items<Item>(at: number, read: (items: AbiReader, at: number) => Item): Item[] {
    const tail = this.tail(at);
    const items = new AbiReader(tail.bytes.subarray(WORD_BYTES));
    const length = tail.size(0);
    // Before room is made for so many.
    if (length * WORD_BYTES > items.bytes.length) throw new RangeError('cut off');
    return Array.from({ length }, (_, place) => read(items, place));
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

/** Returns what `read` does; `undefined` where the bytes do not fit. */
export const readIfWellFormed = <Result>(read: () => Result): Result | undefined => {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
};
