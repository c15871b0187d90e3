import type { WatchedProxy } from '../../schemas/events/event-catcher/watch-events.ts';

/** The members of a block's header that are used here. All hex is lower case. */
export interface BlockHeader {
  number: number;
  hash: string;
  parentHash: string;
  /** Unix seconds. */
  timestamp: number;
  /** 256 bytes, `0x` hex. All bits are set if the provider's bloom is not usable. */
  logsBloom: string;
}

/** A validated log. All hex is lower case. */
export interface ChainLog {
  address: string;
  topics: readonly string[];
  data: string;
  blockNumber: number;
  blockHash: string;
  /** Unix seconds; `undefined` from providers that omit it. */
  blockTimestamp: number | undefined;
  txHash: string;
  txIndex: number;
  logIndex: number;
}

export interface LogFilter {
  /** Lower case; empty matches any address. */
  addresses: readonly string[];
  /** First topics; empty matches any topic. */
  topics: readonly string[];
}

export interface ReadingOfBlock {
  /**
   * Size of the set of addresses from which the bloom selected the filter's: with a large set a match may be chance,
   * and promises no logs. Absent if the bloom did not select the addresses.
   */
  chosenFrom?: number;
  /** Whether the block is final, and this is its last read. */
  isAgain?: boolean;
}

export type BlockOfLogs = Pick<BlockHeader, 'hash' | 'number' | 'logsBloom'>;

/** Logs of a second read, from two endpoints if two answer. */
export interface CrossCheckedLogs {
  /** Every log that any of the endpoints returned. */
  logs: ChainLog[];
  /** Numbers of blocks for which two endpoints return contradictory logs, as opposed to one omitting some. */
  disputed: number[];
  /** How many endpoints answered. */
  endpoints: number;
}

/** The logs in the receipts of a block. */
export interface ReceiptLogs {
  /** All logs of the block, except those that some chains have without a transaction. */
  logs: ChainLog[];
  /** The hashes of the transactions whose receipts were read. */
  txHashes: ReadonlySet<string>;
}

/** No provider gave a valid answer. A retry may succeed. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable';
}

/** Every provider lacks a method that a request needs. The message names the method and what the providers answered. */
export class MethodMissing extends ChainUnavailable {}

/** No provider has the finalized block that a provider reported before, and one has another block in its place. */
export class FinalizedContradicted extends ChainUnavailable {}

/**
 * No provider returns the logs of some blocks, and at least one refuses them while it answers other requests: it has
 * pruned them (EIP-4444), or gives a reason that is not recognised.
 */
export class BlocksRefused extends ChainUnavailable {
  constructor(
    message: string,
    readonly refusal: {
      /** The providers' answers. */
      readonly reason: string;
      /** Whether every provider reports the blocks as pruned. */
      readonly isPrunedEverywhere: boolean;
    },
  ) {
    super(message);
  }
}

/**
 * The range has too many blocks for the provider, or too many logs for this program. The caller should request fewer
 * blocks.
 */
export class RangeTooLarge extends Error {
  override readonly name = 'RangeTooLarge';

  constructor(
    message: string,
    /** A request that should succeed, as far as the provider tells. */
    readonly suggested?: {
      /** How many blocks to request next. */
      blocks: number;
      /**
       * `logs` if the limit depends on the number of logs, so that other ranges may be larger; default `blocks`, for
       * any range.
       */
      of?: 'blocks' | 'logs';
      /** Maximum number of logs that the provider returns; `Infinity` if no maximum is the reason. */
      logsMax?: number | undefined;
    },
  ) {
    super(message);
  }
}

/** No provider keeps the state of that block: only archive nodes keep old state. A retry does not help. */
export class StateUnavailable extends Error {
  override readonly name = 'StateUnavailable';
}

/**
 * One EVM chain, read only. Every answer is validated against its request. Every method throws ChainUnavailable,
 * immediately if the reader is closed meanwhile. A head can be lower than the previous one: the caller decides what
 * that means.
 */
export interface ChainReader {
  readonly chainId: number;
  /** `eth_getBlockByNumber latest` */
  head(): Promise<BlockHeader>;
  /**
   * `eth_getBlockByNumber` of `latest` and `finalized`, in one batch. The finalized block is never newer than the head,
   * and never older than in an earlier answer, unless that one is newer than the head. `undefined` if the chain has no
   * such block, or its providers do not know the name. It may be the `safe` block instead.
   */
  headAndFinalized(): Promise<{ head: BlockHeader; finalized: BlockHeader | undefined }>;
  /**
   * Forgets the newest finalized block, so that a provider may report another hash for it. Called once an operator has
   * accepted its loss, or if no stored progress depends on it.
   */
  forgetFinalized(): void;
  /**
   * `eth_getBlockByNumber`, batched, in the requested order; `undefined` for blocks that the provider does not have.
   */
  headersByNumber(numbers: readonly number[]): Promise<(BlockHeader | undefined)[]>;
  /** `eth_getBlockByHash` */
  headerByHash(hash: string): Promise<BlockHeader | undefined>;
  /**
   * `eth_getLogs` by block hash, so that it cannot return logs of another fork; in log order. If it returns none
   * although the bloom promises some, reads the whole block once more to check it against the bloom. Once the receipts
   * of a block prove that its bloom promises too much, `usesBlooms` becomes false. The logs have the time of the header.
   */
  logsOfBlock(header: BlockHeader, filter: LogFilter, how?: ReadingOfBlock): Promise<ChainLog[]>;
  /**
   * `eth_getLogs` of blocks `from`…`to`, inclusive, in chain order, in one batch with `eth_getBlockByNumber` of `to`: a
   * provider that does not have that block yet would silently omit logs. If an answer has so many logs that it may be
   * truncated, compares it with separate reads of its first and last blocks.
   * @throws RangeTooLarge, also if the answer was truncated; BlocksRefused
   */
  logsOfRange(from: number, to: number, filter: LogFilter): Promise<ChainLog[]>;
  /**
   * Like `logsOfRange`, for final blocks, from two endpoints if two answer, so that one finds what the other omits; in
   * chain order.
   * @throws RangeTooLarge, also if the range is too large for the second endpoint
   */
  crossCheckedLogs(from: number, to: number, filter: LogFilter): Promise<CrossCheckedLogs>;
  /**
   * `eth_getBlockReceipts`, or `eth_getTransactionReceipt` of each transaction of the block. Finds the block's logs
   * without the provider's log index.
   */
  receiptsOfBlock(header: BlockOfLogs): Promise<ReceiptLogs>;
  /** Whether header blooms are used to find blocks without logs. */
  readonly usesBlooms: boolean;
  /** Compares the logs of a block with its bloom. If the bloom lacks one of them, `usesBlooms` becomes false. */
  compareWithBloom(header: Pick<BlockHeader, 'logsBloom'>, logs: readonly ChainLog[]): void;
  /** `eth_getCode`, at the head or at a block. Returns whether there is any code. @throws StateUnavailable */
  hasCode(address: string, block?: number): Promise<boolean>;
  /**
   * `eth_getStorageAt` of the slots of EIP-1967 at the head, and `eth_call` of a beacon: the contract that a proxy
   * runs; `null` for any other contract.
   * @throws StateUnavailable if no provider can tell
   */
  proxyOf(address: string): Promise<WatchedProxy | null>;
  /** Also aborts calls in progress. */
  close(): void;
}
