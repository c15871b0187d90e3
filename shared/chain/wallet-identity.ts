import { sha256 } from '../primitives/ids.ts';

/**
 * Returns the ids by which the identity of a wallet's own key is claimed. They are stored: the second one is that of
 * earlier versions, and keeps the identity where it was claimed by it.
 */
export const walletIdentityIds = (address: string): [identityId: string, formerId: string] => [
  sha256(address.toLowerCase()),
  sha256(`wallet:${address.toLowerCase()}`),
];
