import { checksumAddress } from './address.ts';

export interface AccountCall {
  /** EIP-55. */
  to: string;
  /** Wei, decimal. */
  value: string;
  /** Lower-case `0x` hex. */
  data: string;
}

/** `execute(address,uint256,bytes)` of a smart account. */
const EXECUTE = '0xb61d27f6';
const WORD_DIGITS = 64;
const ADDRESS_DIGITS = 40;
/** Of the bytes, from the first argument on: three words. */
const DATA_OFFSET = 96n;

/**
 * Reads the call that an operation makes its account execute.
 * @param callData of the operation, lower-case `0x` hex
 * @returns `undefined` where it is anything but one `execute`, encoded as the ABI's standard says, with nothing behind it
 */
export const readAccountCall = (callData: string): AccountCall | undefined => {
  if (!callData.startsWith(EXECUTE)) return undefined;
  const digits = callData.slice(EXECUTE.length);
  if (digits.length < 4 * WORD_DIGITS) return undefined;
  const word = (at: number): string => digits.slice(at * WORD_DIGITS, (at + 1) * WORD_DIGITS);
  const number = (at: number): bigint => BigInt(`0x${word(at)}`);
  const target = word(0);
  const bytes = number(3);
  const padded = digits.slice(4 * WORD_DIGITS);
  const isCanonical =
    /^0{24}/.test(target) &&
    number(2) === DATA_OFFSET &&
    BigInt(padded.length) === ((bytes + 31n) / 32n) * BigInt(WORD_DIGITS) &&
    /^0*$/.test(padded.slice(Number(bytes) * 2));
  if (!isCanonical) return undefined;
  return {
    to: checksumAddress(target.slice(-ADDRESS_DIGITS)),
    value: String(number(1)),
    data: `0x${padded.slice(0, Number(bytes) * 2)}`,
  };
};
