import { hash } from 'node:crypto';
import { invalid } from '../../errors/refusal.ts';

/**
 * Chains whose wallets write addresses with a checksum of their own (EIP-1191): Rootstock and its test network. EIP-55
 * checksums are accepted there, too.
 */
export const CHAINS_WITH_CHECKSUMS: readonly number[] = [30, 31];

/**
 * Returns an address in EIP-55 form; `undefined` for invalid text, and for mixed case with a wrong checksum.
 * @param chainIds chains to which the address may belong, whose own checksums are accepted
 */
export const readAddress = (text: string, chainIds: readonly number[] = []): string | undefined => {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return undefined;
  const digits = text.slice(2);
  const small = digits.toLowerCase();
  const address = checksumAddress(small);
  const isMixed = digits !== small && digits !== digits.toUpperCase();
  const isOfChain = (chainId: number) => CHAINS_WITH_CHECKSUMS.includes(chainId) && checksumOn(chainId, small) === text;
  return !isMixed || address === text || chainIds.some(isOfChain) ? address : undefined;
};

/** Like `readAddress`, for a member of a request. @throws Refusal validation_failed */
export const readAddressMember = (path: string, text: string, chainIds: readonly number[] = []): string => {
  const address = readAddress(text, chainIds);
  if (address !== undefined) return address;
  const message = 'is not an address: 0x and 40 hex digits, in mixed case with the right EIP-55 checksum';
  throw invalid({ path, message });
};

/** EIP-1191 form of 40 lower-case hex digits without `0x`. */
const checksumOn = (chainId: number, digits: string): string =>
  withCapitals(digits, hash('keccak-256', `${String(chainId)}${PREFIX}${digits}`, 'hex'));

/**
 * EIP-55 form of 40 lower-case hex digits without `0x`: a letter is upper case if the corresponding digit of the hash
 * is 8 or more.
 */
export const checksumAddress = (digits: string): string => {
  const place = placeOf(digits);
  const known = recent[place] ?? '';
  if (isOfDigits(known, digits)) return known;
  const address = withCapitals(digits, hash('keccak-256', digits, 'hex'));
  recent[place] = address;
  return address;
};

const withCapitals = (digits: string, hashed: string): string => {
  written.write(digits, PREFIX.length, 'latin1');
  for (let at = 0; at < digits.length; at += 1) {
    const digit = written[PREFIX.length + at] ?? 0;
    if (digit >= LETTER_A && hashed.charCodeAt(at) >= EIGHT) written[PREFIX.length + at] = digit & ~SMALL;
  }
  return written.toString('latin1', 0, PREFIX.length + digits.length);
};

const PREFIX = '0x';
/** Buffer for the address under construction: joining its characters as strings takes twice as long. */
const written = Buffer.from(PREFIX.padEnd(42));
/**
 * Cache of recent addresses, indexed by their last three digits. Busy accounts recur, and a lookup is ten times as fast
 * as a hash.
 */
const recent = Array<string>(4_096).fill('');
/** Character code of `8`; `a` to `f` are greater. */
const EIGHT = 0x38;
const LETTER_A = 0x61;
/** The bit that distinguishes a lower-case letter from its capital. It is set in digits, too. */
const SMALL = 0x20;

const placeOf = (digits: string): number => {
  const end = digits.length;
  return (valueAt(digits, end - 3) << 8) | (valueAt(digits, end - 2) << 4) | valueAt(digits, end - 1);
};

const valueAt = (digits: string, at: number): number => {
  const digit = digits.charCodeAt(at);
  return digit >= LETTER_A ? digit - LETTER_A + 10 : digit & 0xf;
};

/** Compares from the end: many vanity addresses begin with zeros. */
const isOfDigits = (address: string, digits: string): boolean => {
  if (address.length !== PREFIX.length + digits.length) return false;
  for (let at = digits.length - 1; at >= 0; at -= 1) {
    if ((address.charCodeAt(PREFIX.length + at) | SMALL) !== digits.charCodeAt(at)) return false;
  }
  return true;
};
