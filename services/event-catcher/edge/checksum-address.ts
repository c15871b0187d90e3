import { LRUCache } from 'lru-cache';
import { checksumAddress as hashedChecksum } from '../../../shared/chain/address.ts';

/** A checksum costs a keccak, more than the rest of a decoded transfer; the same addresses come again and again. */
const kept = new LRUCache<string, string>({ max: 65_536 });

/** EIP-55 form of 40 lower-case hex digits, without `0x`. */
export const checksumAddress = (digits: string): string => {
  const known = kept.get(digits);
  if (known !== undefined) return known;
  const address = hashedChecksum(digits);
  kept.set(digits, address);
  return address;
};
