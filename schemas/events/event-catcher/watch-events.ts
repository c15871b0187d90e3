import { z } from 'zod';
import { address, blockNumber, chainId, hash } from '../../values.ts';
import { event, type EventOf, type Held } from '../event.ts';
import { lasting } from '../held.ts';

const registration: Held = {
  purpose: 'to read the contract events that the user registered, for as long as the user claims them',
  retention: lasting('which id registered which contract'),
};

// A type alias, not an interface: stored data must be assignable to JSON.
export type AbiParameter = { name: string; type: string; indexed?: boolean; components?: AbiParameter[] };
export const abiParameter: z.ZodType<AbiParameter> = z.object({
  name: z.string(),
  type: z.string(),
  indexed: z.boolean().exactOptional(),
  components: z.array(z.lazy(() => abiParameter)).exactOptional(),
});
/** One event of an ABI, normalised: only these members, with empty names where none were given. */
export const eventFragment = z.object({
  name: z.string(),
  anonymous: z.boolean(),
  inputs: z.array(abiParameter),
});
export type EventFragment = z.infer<typeof eventFragment>;

/**
 * Why a watch is paused: who claims it (`app`) or the operator wanted it, or its backfill met the bound of records or of blocks that one
 * watch may have.
 */
export const pauseReason = z.enum(['app', 'operator', 'records', 'blocks']);
export type PauseReason = z.infer<typeof pauseReason>;

/** What a proxy as EIP-1967 describes it ran when it was registered: by its own slot, or by that of its beacon. */
export const watchedProxy = z.object({ kind: z.enum(['eip1967', 'eip1967-beacon']), implementation: address });
export type WatchedProxy = z.infer<typeof watchedProxy>;

const aboutWatch = z.object({ watchId: z.string(), chainId, contractAddress: address });

/** Whose claim it is, within the app. Who signed a connection token has one id as both. */
const claimingUser = z
  .string()
  .nullable()
  .exactOptional()
  .describe('null: the app itself. Not there in events that were stored while a claim was a whole app’s');

/** Stream `watch-<watchId>`. */
export const watchEvents = {
  /**
   * Stored once for each claim on the watch, and again where it is to begin elsewhere. The first one creates the watch; one after
   * the last claim was dropped goes on where it stopped.
   */
  ContractRegistered: event(
    1,
    z.object({
      watchId: z.string(),
      chainId,
      contractAddress: address,
      eventName: z.string(),
      /** In canonical form: no names, no space after commas, `indexed` kept. */
      eventSignature: z.string(),
      /** `null` for an anonymous event. */
      topic0: hash.nullable(),
      fragment: eventFragment,
      startBlock: blockNumber,
      /** From where on the claimant wants it, where that is not the start block of the watch. */
      askedBlock: blockNumber.exactOptional(),
      appId: z.string(),
      userId: claimingUser,
      /** The chain's head then: what is read of the blocks up to it is the backfill of the watch. */
      headBlock: blockNumber.exactOptional(),
      /** `null`: no proxy. Not there where no provider told. */
      proxy: watchedProxy.nullable().exactOptional(),
    }),
    { held: registration },
  ),
  /** The watch now begins earlier. */
  WatchExtended: event(1, aboutWatch.extend({ startBlock: blockNumber })),
  /** The watch now begins later: nobody wants the blocks before. What is stored of them stays. */
  WatchShortened: event(1, aboutWatch.extend({ startBlock: blockNumber })),
  /** Nothing more is read for the watch, until it is resumed. */
  WatchPaused: event(1, aboutWatch.extend({ reason: pauseReason })),
  WatchResumed: event(
    1,
    aboutWatch.extend({
      /** Whether its backfill is without bounds from now on: the operator resumed it. */
      isUnbounded: z.boolean(),
    }),
  ),
  /** Final blocks are to be read again, both ends included, and what is stored of them is to be compared. */
  WatchReplayRequested: event(1, aboutWatch.extend({ fromBlock: blockNumber, toBlock: blockNumber })),
  /** A claim was dropped. Nothing more is read for a watch without claims. */
  WatchRemoved: event(1, aboutWatch.extend({ appId: z.string(), userId: claimingUser }), { held: registration }),
};
export type WatchEvent = EventOf<typeof watchEvents>;
