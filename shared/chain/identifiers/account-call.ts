import { checksumAddress } from './address.ts';

/** A call that an account is to make. */
export interface AccountCall {
  /** EIP-55. */
  to: string;
  /** Wei. */
  value: bigint;
  /** Lower-case `0x` hex. */
  data: string;
}

/**
 * Reads the calls that an operation makes a SimpleAccount v0.7 execute: one of
 * `execute(address,uint256,bytes)`, any number of `executeBatch(address[],uint256[],bytes[])`.
 * Only the encoding that compilers and libraries write is read: offsets in order, no gaps, zeros as padding, nothing
 * behind (decision 0062).
 * @param callData of the operation, lower-case `0x` hex
 * @returns `undefined` for any other call data
 */
export const readAccountCalls = (callData: string): AccountCall[] | undefined => {
  const read = READERS.get(callData.slice(0, SELECTOR_LENGTH));
  if (!read || !/^0x(?:[0-9a-f]{2})*$/.test(callData)) return undefined;
  const encoding = new CanonicalEncoding(callData.slice(SELECTOR_LENGTH));
  const calls = read(encoding);
  return encoding.isReadToItsEnd ? calls : undefined;
};

const SELECTOR_LENGTH = '0x'.length + 8;
const WORD_DIGITS = 64;
const ADDRESS_DIGITS = 40;

/** Reads an encoding from front to back. What it returns counts only if `isReadToItsEnd` is true after the last value. */
class CanonicalEncoding {
  private isCanonical = true;
  /** In digits. */
  private place = 0;

  constructor(private readonly digits: string) {}

  get isReadToItsEnd(): boolean {
    return this.isCanonical && this.place === this.digits.length;
  }

  require(isTrue: boolean): void {
    this.isCanonical &&= isTrue;
  }

  number(): bigint {
    const word = this.digits.slice(this.place, this.place + WORD_DIGITS);
    this.require(word.length === WORD_DIGITS);
    this.place += WORD_DIGITS;
    return BigInt(`0x0${word}`);
  }

  address(): string {
    const number = this.number();
    const address = BigInt.asUintN(4 * ADDRESS_DIGITS, number);
    this.require(address === number);
    return checksumAddress(address.toString(16).padStart(ADDRESS_DIGITS, '0'));
  }

  /** Requires that an offset, in bytes after `base`, points at what is read next. @param base in digits */
  requireNext(offset: bigint, base = 0): void {
    this.require(offset * 2n === BigInt(this.place - base));
  }

  bytes(): string {
    const length = Number(this.number()) * 2;
    const end = this.place + Math.ceil(length / WORD_DIGITS) * WORD_DIGITS;
    const padded = this.digits.slice(this.place, end);
    this.require(end <= this.digits.length && /^0*$/.test(padded.slice(length)));
    this.place = end;
    return `0x${padded.slice(0, length)}`;
  }

  list<Item>(read: () => Item): Item[] {
    const length = Number(this.number());
    // Each item has a word of its own: room is made for no more items than were sent.
    this.require(length * WORD_DIGITS <= this.digits.length - this.place);
    return this.isCanonical ? Array.from({ length }, read) : [];
  }

  listOfBytes(): string[] {
    const offsets = this.list(() => this.number());
    const base = this.place - offsets.length * WORD_DIGITS;
    return offsets.map((offset) => {
      this.requireNext(offset, base);
      return this.bytes();
    });
  }
}

const readExecute = (encoding: CanonicalEncoding): AccountCall[] => {
  const [to, value, dataAt] = [encoding.address(), encoding.number(), encoding.number()];
  encoding.requireNext(dataAt);
  return [{ to, value, data: encoding.bytes() }];
};

const readExecuteBatch = (encoding: CanonicalEncoding): AccountCall[] => {
  const [targetsAt, valuesAt, dataAt] = [encoding.number(), encoding.number(), encoding.number()];
  encoding.requireNext(targetsAt);
  const targets = encoding.list(() => encoding.address());
  encoding.requireNext(valuesAt);
  const values = encoding.list(() => encoding.number());
  encoding.requireNext(dataAt);
  const data = encoding.listOfBytes();
  // The account refuses any other lengths. Without values, each is 0.
  encoding.require(data.length === targets.length && [0, targets.length].includes(values.length));
  return targets.map((to, at) => ({ to, value: values[at] ?? 0n, data: data[at] ?? '' }));
};

const READERS = new Map([
  ['0xb61d27f6', readExecute],
  ['0x47e1da2a', readExecuteBatch],
]);
