import { z } from 'zod';
import { anyJsonObject } from '../../json.ts';
import { address, blockNumber, chainId, hash, isoTime } from '../../values.ts';
import { event, type EventOf } from '../event.ts';

export const eventOrigin = z.enum(['backfill', 'live', 'replay']);
export type EventOrigin = z.infer<typeof eventOrigin>;

/** The event record of the interface without `Status`, as it is stored, published and streamed. */
export const observedRecord = z.object({
  /** `{chainId}:{blockHash}:{txHash}:{logIndex}`: names the log. Together with `WatchId` it names the record. */
  Id: z.string(),
  WatchId: z.string(),
  ChainId: chainId,
  ContractAddress: address,
  EventName: z.string(),
  /** In canonical form, as the registration returned it. */
  EventSignature: z.string(),
  BlockNumber: blockNumber,
  BlockHash: hash,
  BlockTime: isoTime,
  TxHash: hash,
  TxIndex: z.int().nonnegative(),
  LogIndex: z.int().nonnegative(),
  Data: anyJsonObject.describe(
    'Decoded arguments by name, one whose bytes do not fit its type as {raw, error}; of a log whose layout is not that of ' +
      'its event {raw: {topics, data}, error}; of one that is too large {raw: {topics, data, bytes, hash}, error} with the ' +
      'first 1,024 bytes, the number of all, and their keccak-256.',
  ),
  Origin: eventOrigin,
});
export type ObservedRecord = z.infer<typeof observedRecord>;

/** The stream of the events of a contract. */
export const chainEventsStream = (chainId: number, contractAddress: string): string =>
  `chain-${String(chainId)}-${contractAddress.toLowerCase()}`;

/** In the stream of their contract, in chain order per watch. */
export const chainEvents = {
  ChainEventObserved: event(1, observedRecord),
  /** A reorganisation removed the block. Contains the whole record again. */
  ChainEventReverted: event(1, observedRecord),
};
export type ChainEvent = EventOf<typeof chainEvents>;

export const followerEvents = {
  /**
   * Another process follows the chain from here on. Appends of the previous one that have not arrived by now are
   * refused by their expected revision. Stored in the streams of contracts, in that of deferred ranges, and in that of
   * a chain that has no `ChainAdvanced` yet.
   */
  FollowerReplaced: event(1, z.object({ chainId })),
};
export type FollowerEvent = EventOf<typeof followerEvents>;

export const windowBlock = z.object({
  number: blockNumber,
  hash,
  parentHash: hash,
  timestamp: z.int().nonnegative(),
  /** Everything that was observed in this block and was not reverted is stored after this position. */
  since: z.int().nonnegative(),
});
export type WindowBlock = z.infer<typeof windowBlock>;

/** Why blocks are not read, and since when. */
export const blocksGap = z.object({ reason: z.string(), since: isoTime });
export type BlocksGap = z.infer<typeof blocksGap>;

/** Blocks of some watches still to be read: `next`…`to`, inclusive. `from` is where the watch or its extension began. */
export const backfillRange = z.object({
  watchIds: z.array(z.string()).min(1),
  from: blockNumber,
  next: blockNumber,
  to: blockNumber,
  /** Whether the watches are live at its end; `false` for an extension backwards of watches that are live already. */
  joins: z.boolean(),
  /** Absent but for blocks that no provider gives: they are tried again now and then, and hold up nothing. */
  gap: blocksGap.exactOptional(),
});
export type BackfillRange = z.infer<typeof backfillRange>;

/** Stream `chain-<chainId>`; only the newest event is kept. */
export const chainProgressEvents = {
  ChainAdvanced: event(
    4,
    z.object({
      chainId,
      /** The highest block in the window. */
      head: blockNumber,
      /** Blocks up to this one cannot be reorganised any more. It is the window's first block. */
      finalized: blockNumber,
      /** Consecutive, linked by parent hash, oldest first, never empty. */
      window: z.array(windowBlock).min(1),
      /**
       * Some of the final blocks before the window, oldest first, fewer the older they are: they tell how far back a chain that
       * gives up final blocks is another one. Absent while there is none.
       */
      anchors: z.array(z.object({ number: blockNumber, hash })).exactOptional(),
      /** The ranges that are not read yet, but for those that are deferred. A watch without a joining range is live. */
      backfills: z.array(backfillRange),
      /** The position up to which registrations are included. */
      watchesUpTo: z.int().nonnegative(),
      /**
       * The position of the progress event that this one repeats, for the next process: it does not include later
       * events.
       */
      repeats: z.int().nonnegative().exactOptional(),
    }),
  ),
};
export type ChainProgressEvent = EventOf<typeof chainProgressEvents>;

/** Stream `chain-<chainId>-aside`. */
export const asideEvents = {
  /**
   * What is still to be read of a watch and is not in `ChainAdvanced` from here on: it is stopped, or others are to be read before.
   * None: `ChainAdvanced` has it again. What is newer than the newest `ChainAdvanced` when another process follows the chain is
   * taken back by another event.
   */
  RangesSetAside: event(
    1,
    z.object({ chainId, watchId: z.string(), ranges: z.array(backfillRange.omit({ watchIds: true })) }),
  ),
};
export type AsideEvent = EventOf<typeof asideEvents>;

/** Stream `chain-<chainId>-verified`; only the newest event is kept. */
export const chainVerificationEvents = {
  /** Final blocks were read once more, and what was stored of them was corrected. */
  ChainVerified: event(
    1,
    z.object({
      chainId,
      /** Each watch is verified from its start block to this one, but for those that are behind. */
      verified: blockNumber,
      /** Watches that are verified to before `next`. */
      behind: z.array(z.object({ watchIds: z.array(z.string()).min(1), next: blockNumber })),
      /** Ranges that are to be read again because somebody wanted it: `next`…`to`, inclusive. Absent where there is none. */
      replays: z.array(z.object({ watchId: z.string(), next: blockNumber, to: blockNumber })).exactOptional(),
      /**
       * Blocks `next`…`to` that are not verified although later ones are: they could not be read. They are verified once they have
       * been. Absent where there are none.
       */
      skipped: z
        .array(z.object({ watchIds: z.array(z.string()).min(1), next: blockNumber, to: blockNumber }))
        .exactOptional(),
      /** The position up to which registrations are included. */
      watchesUpTo: z.int().nonnegative(),
    }),
  ),
};
export type ChainVerificationEvent = EventOf<typeof chainVerificationEvents>;

/** Stream `chain-<chainId>-accepted`; only the newest event is kept. */
export const chainAcceptanceEvents = {
  /**
   * The operator accepts that the chain dropped this block, the newest final one stored. The follower reverts all records after the
   * newest anchor still on the chain, or from `fromBlock` on, and reads and verifies those blocks again.
   */
  FinalBlockGivenUp: event(1, z.object({ chainId, number: blockNumber, hash, fromBlock: blockNumber.exactOptional() })),
};
export type ChainAcceptanceEvent = EventOf<typeof chainAcceptanceEvents>;
