import { addressOfKey } from '../../../shared/keys/signatures/secp256k1-keys.ts';
import { deriveKey } from '../../../shared/keys/derive-key.ts';

/** The node to which this process belongs. */
export interface OwnNode {
  address: string;
  /** Where its clients find the routes of an event catcher. */
  domain: string;
  /** Where its clients find the stream. */
  rpcDomain: string;
}

/**
 * Returns the node with these URLs. Its address is that of a key derived from the master key and `rpcDomain`: the same
 * after each start, and in each process behind one proxy.
 */
export const nodeAt = (edgeKey: Uint8Array, { domain, rpcDomain }: Omit<OwnNode, 'address'>): OwnNode => ({
  address: addressOfKey(deriveKey(edgeKey, `node ${rpcDomain}`)),
  domain,
  rpcDomain,
});
