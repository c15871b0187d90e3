import { z } from 'zod';
import { backfillRange } from '../events/chain-events.ts';
import { blockNumber, chainId, isoTime } from '../values.ts';

/** Collection `chains`, by decimal chain id. */
export const chainDocument = z.object({
  chainId,
  head: blockNumber,
  headTime: isoTime,
  finalized: blockNumber,
  /** What is not yet covered; a watch registered up to `watchesUpTo` and without a joining range is live. */
  backfills: z.array(backfillRange),
  /** Position up to which registrations are taken into account. */
  watchesUpTo: z.int().nonnegative(),
});
export type ChainDocument = z.infer<typeof chainDocument>;
