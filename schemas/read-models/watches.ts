import { z } from 'zod';
import { eventFragment } from '../events/watch-events.ts';
import { address, blockNumber, chainId, hash, isoTime } from '../values.ts';

/** Collection `watches`, by watch id. */
export const watchDocument = z.object({
  id: z.string(),
  chainId,
  contractAddress: address,
  eventName: z.string(),
  eventSignature: z.string(),
  topic0: hash.nullable(),
  fragment: eventFragment,
  startBlock: blockNumber,
  /** Apps that hold a claim, in the order they came. */
  apps: z.array(z.string()),
  createdAt: isoTime,
  /** Position of the first registration. */
  createdPosition: z.int(),
});
export type WatchDocument = z.infer<typeof watchDocument>;
