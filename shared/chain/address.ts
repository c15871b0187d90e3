import { getAddress } from 'ethers';

/** An address in EIP-55 form; `undefined` for what is none, and for a mixed-case one whose checksum is wrong. */
export const readAddress = (text: string): string | undefined => {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return undefined;
  try {
    return getAddress(text);
  } catch {
    return undefined;
  }
};
