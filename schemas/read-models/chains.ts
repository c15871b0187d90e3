import { z } from 'zod';
import { backfillRange } from '../events/chain-events.ts';
import { blockNumber, chainId, isoTime } from '../values.ts';

/** Collection `chains`, by decimal chain id. */
export const chainDocument = z.object({
  chainId,
  head: blockNumber,
  headTime: isoTime,
  finalized: blockNumber,
  backfills: z.array(backfillRange),
});
export type ChainDocument = z.infer<typeof chainDocument>;
