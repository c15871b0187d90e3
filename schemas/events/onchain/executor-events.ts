import { z } from 'zod';
import { address, blockNumber, chainId, hash, uint } from '../../values.ts';
import { event, type EventOf } from '../event.ts';

export const executorStream = (chainId: number, executor: string): string =>
  `executor-${String(chainId)}-${executor.toLowerCase()}`;

const bundle = z.object({ chainId, executor: address, nonce: z.int().nonnegative(), transactionHash: hash });
const signed = bundle.extend({
  /** Ids of transactions, in the order in which the EntryPoint is given them. */
  operations: z.array(z.string()),
  gasLimit: uint,
  maxFeePerGas: uint,
  maxPriorityFeePerGas: uint,
  /** Whether the transaction is a legacy one (EIP-155), whose gas price both fees are; else the transaction is of EIP-1559. */
  isLegacy: z.boolean().exactOptional(),
});

/** Stream `executor-<chainId>-<address>`: the bundles of one account that sends them. Only the newest are kept. */
export const executorEvents = {
  /** Stored before it is sent. Signing it again gives the same bytes. */
  BundleSigned: event(1, signed),
  /** At the same nonce: the same operations with higher fees, or none, so that the nonce is used and the next can follow. */
  BundleReplaced: event(1, signed),
  /** The node refused it and had never taken it: its nonce is that of the next bundle. `reason`: the node's words. */
  BundleWithdrawn: event(1, bundle.extend({ reason: z.string() })),
  /** Its nonce was used by this transaction; not `success`: none of its operations was executed. */
  BundleMined: event(1, bundle.extend({ blockNumber, blockHash: hash, success: z.boolean() })),
  /** The block that used its nonce left the chain. */
  BundleReorged: event(1, bundle.extend({ blockHash: hash })),
  BundleFinalized: event(1, bundle),
  /** A final block has used its nonce for a transaction of somebody else. `nextNonce`: the first that is not used. */
  BundleLost: event(1, bundle.omit({ transactionHash: true }).extend({ nextNonce: z.int().positive() })),
  /** Another process sends bundles from now on: what an earlier one decided is not appended any more. */
  BundlerReplaced: event(1, z.object({ chainId, executor: address, epoch: z.int().positive() })),
};
export type ExecutorEvent = EventOf<typeof executorEvents>;
