import { z } from 'zod';
import { address, chainId, hash } from '../../values.ts';
import { event, type EventOf } from '../event.ts';

export const entityStream = (chainId: number, entity: string): string =>
  `entity-${String(chainId)}-${entity.toLowerCase()}`;

/** A caller of `/rpc`, by whose operations count together whatever their senders are. */
const caller = z.string().regex(/^(user|app):/);
const entity = z.object({ chainId, address: address.or(caller) });

/**
 * Stream `entity-<chainId>-<address>`: a sender, factory or paymaster that is not ours, and what it may still submit. Stream
 * `entity-<chainId>-user:<id>` or `…-app:<id>`: the same of whoever submits operations of such senders.
 */
export const entityEvents = {
  /** One of its operations is accepted; of those that were before, `ended` wait no more. */
  OperationAdmitted: event(1, entity.extend({ transactionId: z.string(), ended: z.array(z.string()) })),
  /** One that was accepted is refused after all, for another reason: it never was pending. */
  OperationTakenBack: event(1, entity.extend({ transactionId: z.string() })),
  /** A bundle with its operation alone was reverted on the chain: it is refused for an hour. */
  EntityBanned: event(1, entity.extend({ transactionHash: hash })),
  /** `debug_bundler_setReputation`: what is known of its operations counts no more. ERC-7562, reputation. */
  EntityReputationSet: event(1, entity.extend({ opsSeen: z.int().nonnegative(), opsIncluded: z.int().nonnegative() })),
  /** `debug_bundler_clearState`: it is like one that was never seen. */
  EntityForgotten: event(1, entity),
};
export type EntityEvent = EventOf<typeof entityEvents>;
