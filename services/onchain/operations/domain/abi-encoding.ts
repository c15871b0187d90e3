const WORD_DIGITS = 64;

/** Returns 32 bytes as hex digits. */
export const word = (value: bigint | number): string => value.toString(16).padStart(WORD_DIGITS, '0');

/** Returns the hex digits of an address or of bytes, without `0x`. */
export const digitsOf = (hex: string): string => hex.slice(2).toLowerCase();

export const addressWord = (address: string): string => digitsOf(address).padStart(WORD_DIGITS, '0');

/** Returns the tail of a `bytes` value: its length, then its content padded to whole words. */
export const bytesTail = (digits: string): string =>
  word(digits.length / 2) + digits.padEnd(Math.ceil(digits.length / WORD_DIGITS) * WORD_DIGITS, '0');

/** One member of a tuple: its word, or its tail, for which the head has an offset. */
type AbiMember = string | { tail: string };

/** Returns the encoding of a tuple: the head of words and offsets, then the tails. */
export const tuple = (...members: readonly AbiMember[]): string => {
  let offset = members.length * (WORD_DIGITS / 2);
  let head = '';
  let tails = '';
  for (const member of members) {
    if (typeof member === 'string') {
      head += member;
      continue;
    }
    head += word(offset);
    tails += member.tail;
    offset += member.tail.length / 2;
  }
  return head + tails;
};

/** Returns the tail of an array whose items are not single words. */
export const arrayTail = (tails: readonly string[]): string =>
  word(tails.length) + tuple(...tails.map((tail) => ({ tail })));
