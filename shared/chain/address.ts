import { hash } from 'node:crypto';
import { invalid } from '../errors/refusal.ts';

/** Returns an address in EIP-55 form; `undefined` for invalid text, and for mixed case with a wrong checksum. */
export const readAddress = (text: string): string | undefined => {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return undefined;
  const digits = text.slice(2);
  const address = checksumAddress(digits.toLowerCase());
  const isMixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  return isMixed && address !== text ? undefined : address;
};

/** Does the same for a member of a request. @throws Refusal validation_failed */
export const readAddressMember = (path: string, text: string): string => {
  const address = readAddress(text);
  if (address !== undefined) return address;
  const message = 'is not an address: 0x and 40 hex digits, in mixed case with the right EIP-55 checksum';
  throw invalid({ path, message });
};

/**
 * EIP-55 form of 40 lower-case hex digits without `0x`: a letter is upper case where the digit of the hash is 8 or
 * more.
 */
export const checksumAddress = (digits: string): string => {
  const hashed = hash('keccak-256', digits, 'hex');
  const letters = digits.toUpperCase();
  let address = '0x';
  for (let at = 0; at < digits.length; at += 1) {
    address += hashed.charCodeAt(at) >= EIGHT ? letters.charAt(at) : digits.charAt(at);
  }
  return address;
};

/** The character `8`; `a` to `f` come after it. */
const EIGHT = 0x38;
