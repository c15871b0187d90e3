import { readAddress } from '../../../shared/chain/address.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';

/** @throws Refusal validation_failed */
export const readSigner = (text: string): string => {
  const signer = readAddress(text);
  if (signer !== undefined) return signer;
  const message = 'is no address: 0x and 40 hex digits, in mixed case with the right EIP-55 checksum';
  throw new Refusal('validation_failed', `signer ${message}`, { errors: [{ path: 'signer', message }] });
};
