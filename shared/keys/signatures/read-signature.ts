import { Refusal } from '../../errors/refusal.ts';

/** @throws Refusal signature_malformed unless the text is 65 bytes in hex */
export const readSignature = (text: string): string => {
  if (!/^0x[0-9a-fA-F]{130}$/.test(text)) {
    throw new Refusal('signature_malformed', 'a signature is 0x and 130 hex digits');
  }
  return text.toLowerCase();
};
