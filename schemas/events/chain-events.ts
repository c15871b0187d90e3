import { z } from 'zod';
import { jsonValue } from '../json.ts';
import { address, blockNumber, chainId, hash, isoTime } from '../values.ts';
import { event, type EventOf } from './event.ts';

export const eventOrigin = z.enum(['backfill', 'live', 'replay']);
export type EventOrigin = z.infer<typeof eventOrigin>;

/** The event record of the interface without `Status`: stored, published and streamed as it is. */
export const observedRecord = z.object({
  /** `{chainId}:{blockHash}:{txHash}:{logIndex}`. */
  Id: z.string(),
  ChainId: chainId,
  ContractAddress: address,
  EventName: z.string(),
  /** Canonical, as the registration answered it. */
  EventSignature: z.string(),
  BlockNumber: blockNumber,
  BlockHash: hash,
  BlockTime: isoTime,
  TxHash: hash,
  TxIndex: z.int().nonnegative(),
  LogIndex: z.int().nonnegative(),
  Data: z
    .record(z.string(), jsonValue)
    .describe(
      'Decoded arguments by name; of a log that does not fit its event {raw: {topics, data}, error}; of one that is too ' +
        'large {raw: {topics, data, bytes, hash}, error} with the first 1,024 bytes, the number of all, and their keccak-256.',
    ),
  Origin: eventOrigin,
});
export type ObservedRecord = z.infer<typeof observedRecord>;

/** Stream `chain-<chainId>-<contract, lower case>`, in chain order per watch. */
export const chainEvents = {
  ChainEventObserved: event(1, observedRecord),
  /** A reorganisation removed the block: the whole record again. */
  ChainEventReverted: event(1, observedRecord),
};
export type ChainEvent = EventOf<typeof chainEvents>;

export const followerEvents = {
  /**
   * Another follows the chain from here on: what the one before it sent, and has not arrived by now, is refused by its
   * expected revision. In the streams of contracts, and in that of a chain that has no `ChainAdvanced` yet.
   */
  FollowerReplaced: event(1, z.object({ chainId })),
};
export type FollowerEvent = EventOf<typeof followerEvents>;

export const windowBlock = z.object({
  number: blockNumber,
  hash,
  parentHash: hash,
  timestamp: z.int().nonnegative(),
  /** Position behind which everything is stored that was observed in this block and stands. */
  since: z.int().nonnegative(),
});
export type WindowBlock = z.infer<typeof windowBlock>;

/** Blocks of one watch still to be read: `next`…`to`, inclusive; `from` is where the watch or its extension began. */
export const backfillRange = z.object({
  watchId: z.string(),
  from: blockNumber,
  next: blockNumber,
  to: blockNumber,
  /** At its end the watch joins the head; `false`: an extension backwards of a watch that is live. */
  joins: z.boolean(),
});
export type BackfillRange = z.infer<typeof backfillRange>;

/**
 * Stream `chain-<chainId>`; only the newest is kept. Version 1 had spans of revisions in place of `since`; version 2 no
 * `repeats`.
 */
export const chainProgressEvents = {
  ChainAdvanced: event(
    3,
    z.object({
      chainId,
      /** Highest block that the window holds. */
      head: blockNumber,
      /** Blocks up to this one cannot be reorganised any more; the window's first block. */
      finalized: blockNumber,
      /** Consecutive, linked by parent hash, oldest first, never empty. */
      window: z.array(windowBlock).min(1),
      /** What is not yet covered; a watch without a joining range is live. */
      backfills: z.array(backfillRange),
      /** Position up to which registrations are taken into account. */
      watchesUpTo: z.int().nonnegative(),
      /** Position of the checkpoint that this one repeats, for one who takes over: what lies behind that is not in it. */
      repeats: z.int().nonnegative().exactOptional(),
    }),
  ),
};
export type ChainProgressEvent = EventOf<typeof chainProgressEvents>;
