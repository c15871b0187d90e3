import { Refusal } from '../../../shared/errors/refusal.ts';

/** @throws Refusal signature_malformed for anything but 65 bytes of hex */
export const readSignature = (text: string): string => {
  if (!/^0x[0-9a-fA-F]{130}$/.test(text)) {
    throw new Refusal('signature_malformed', 'a signature is 0x and 130 hex digits');
  }
  return text.toLowerCase();
};
