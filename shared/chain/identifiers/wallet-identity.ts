import { sha256 } from '../../primitives/ids.ts';

/** Returns the id by which the identity of a wallet's own key is claimed. It is stored. */
export const walletIdentityId = (address: string): string => sha256(address.toLowerCase());
