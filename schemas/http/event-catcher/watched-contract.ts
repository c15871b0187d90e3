import { z } from 'zod';
import { watchedProxy } from '../../events/event-catcher/watch-events.ts';
import { address, blockNumber, chainId, hash, isoTime } from '../../values.ts';

const count = z.int().nonnegative();

export const watchState = z.enum(['backfilling', 'live', 'paused', 'failed']);

export type WatchState = z.infer<typeof watchState>;

export const watchedContract = z.object({
  id: z.string(),
  chainId,
  contractAddress: address,
  eventName: z.string(),
  eventSignature: z.string().describe('canonical: no names, no space after commas, indexed kept'),
  topic0: hash.nullable().describe('null: an anonymous event, matched by layout'),
  startBlock: blockNumber,
  proxy: watchedProxy.nullable().describe('what the contract ran when it was registered; null: no proxy that is known'),
  state: watchState,
  createdAt: isoTime,
});
export type WatchedContract = z.infer<typeof watchedContract>;

/** The same in the answer of a query, which may be one as of an earlier time. */
export const queriedContract = watchedContract.extend({
  state: watchState.nullable().describe('null in an answer as of an earlier time, unless it was paused then'),
});
export type QueriedContract = z.infer<typeof queriedContract>;

export const blockGap = z.object({
  fromBlock: blockNumber,
  toBlock: blockNumber.describe('inclusive'),
  reason: z.string(),
  since: isoTime.nullable().describe('since when they are known to be missing; null: they are still to be read'),
});

export const watchStatus = z.object({
  id: z.string(),
  chainId,
  contractAddress: address,
  eventName: z.string(),
  state: watchState,
  startBlock: blockNumber,
  currentBlockNumber: blockNumber.describe('every block up to this one has been read, except for the gaps'),
  headBlock: blockNumber.nullable().describe('null until the chain was read, as in the members below'),
  finalizedBlock: blockNumber.nullable(),
  lagBlocks: z.int().nullable(),
  lagSeconds: z.int().nullable().describe('age of the newest block of the chain that was read'),
  eventsTotal: count.describe('records that are not reverted'),
  eventsPerSecond: z.number().describe('of the backfill'),
  etaSeconds: z.int().nullable().describe('time until the watch is live; null when unknown'),
  verifiedBlock: blockNumber
    .nullable()
    .describe(
      'every block from the start block to this one was read once more when it was final, and what was stored compared with ' +
        'it; null: none yet',
    ),
  lastError: z
    .string()
    .nullable()
    .describe(
      'why it has failed, or was paused, cannot be verified or has gaps, or that its chain stands still; with the setting that helps',
    ),
  gaps: z
    .array(blockGap)
    .describe('blocks that are not read though later ones are; those that nobody gives are tried each hour'),
});
export type WatchStatus = z.infer<typeof watchStatus>;
