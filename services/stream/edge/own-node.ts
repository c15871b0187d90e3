import { addressOfKey } from '../../../shared/keys/secp256k1-keys.ts';
import { deriveKey } from '../../../shared/keys/derive-key.ts';

/** The node that this process is, or one of whose processes it is. */
export interface OwnNode {
  address: string;
  /** Where its clients find the routes of an event catcher. */
  domain: string;
  /** Where its clients find the stream. */
  rpcDomain: string;
}

/**
 * Returns the node at an address for clients. Its own address is that of a key which follows from the master key and
 * where it is: the same after each start, and in each process behind one proxy.
 */
export const nodeAt = (edgeKey: Uint8Array, { domain, rpcDomain }: Omit<OwnNode, 'address'>): OwnNode => ({
  address: addressOfKey(deriveKey(edgeKey, `node ${rpcDomain}`)),
  domain,
  rpcDomain,
});
