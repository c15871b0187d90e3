import { z } from 'zod';
import { address, chainId, uint } from '../../values.ts';
import { event, type EventOf } from '../event.ts';

export const noncesStream = (chainId: number, sender: string): string =>
  `nonces-${String(chainId)}-${sender.toLowerCase()}`;

/** Stream `nonces-<chainId>-<sender>`: which transaction has which nonce of an account. */
export const nonceEvents = {
  /** The nonce is the transaction's for ever. A transaction that replaces another takes over its nonce. */
  NonceAssigned: event(
    1,
    z.object({
      chainId,
      sender: address,
      nonce: uint,
      transactionId: z.string(),
      /** Whether its operation is the one that deploys the account. */
      deploys: z.boolean(),
      /** Of an operation that came signed: another one of this nonce has to pay more. */
      fees: z.object({ maxFeePerGas: uint, maxPriorityFeePerGas: uint }).exactOptional(),
    }),
  ),
  /** The transaction was refused before it was signed. */
  NonceReleased: event(1, z.object({ chainId, sender: address, nonce: uint, transactionId: z.string() })),
};
export type NonceEvent = EventOf<typeof nonceEvents>;
