import { createHmac } from 'node:crypto';
import { deriveKey } from '../../../../shared/keys/derive-key.ts';

/** Returns the network of a client's address: of IPv6 the /48 prefix, which one site has. */
export const networkOf = (address: string): string => address.replace(/:[0-9a-f]+::\/64$/, '::/48');

/** Returns what tells the challenges of one client address from those of others, without saying the address. */
export const clientMark = (masterKey: Uint8Array, address: string): string =>
  createHmac('sha256', deriveKey(masterKey, 'client addresses')).update(address).digest('hex').slice(0, 32);
