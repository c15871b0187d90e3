import type { WatchedProxy } from '../../schemas/events/watch-events.ts';

/** A block's header, as far as it is used here. All hex is lower case. */
export interface BlockHeader {
  number: number;
  hash: string;
  parentHash: string;
  /** Unix seconds. */
  timestamp: number;
  /** 256 bytes, `0x` hex. All bits are set when the provider's bloom is not usable. */
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
  /** Lower case; empty matches any. */
  addresses: readonly string[];
  /** First topics; empty matches any. */
  topics: readonly string[];
}

export interface ReadingOfBlock {
  /**
   * Of how many addresses the bloom allows those of the filter: where it allows one of so many by chance, it promises nothing.
   * Without it, the bloom did not choose them.
   */
  chosenFrom?: number;
  /** Whether the block is final, and is read for the last time. */
  isAgain?: boolean;
}

export type BlockOfLogs = Pick<BlockHeader, 'hash' | 'number' | 'logsBloom'>;

/** Logs that were asked for once more. */
export interface LogsAgain {
  /** Every log that an endpoint gave. */
  logs: ChainLog[];
  /** The numbers of blocks about whose logs two endpoints say different things: not that one leaves some out. */
  disputed: number[];
  /** How many endpoints answered. */
  endpoints: number;
}

/** What the receipts of a block say. */
export interface ReceiptLogs {
  /** All of the block, but for those that a chain has without a transaction. */
  logs: ChainLog[];
  /** The hashes of the transactions whose receipts were read. */
  txHashes: ReadonlySet<string>;
}

/** No provider gave a valid answer. The call may succeed later. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable';
}

/** No provider has the finalized block that one of them had before, and one has another block in its place. */
export class FinalizedContradicted extends ChainUnavailable {}

/**
 * No provider gives the logs of some blocks, and at least one refuses them though it answers other requests: it has pruned them
 * (EIP-4444), or says why in words that nobody knows.
 */
export class BlocksRefused extends ChainUnavailable {
  constructor(
    message: string,
    readonly refusal: {
      /** What each provider said. */
      readonly reason: string;
      /** Whether every provider says that it does not have them any more. */
      readonly isPrunedEverywhere: boolean;
    },
  ) {
    super(message);
  }
}

/**
 * The range has too many blocks for the provider, or too many logs for this program. The caller asks for fewer blocks.
 */
export class RangeTooLarge extends Error {
  override readonly name = 'RangeTooLarge';

  constructor(
    message: string,
    /** What should be answered, as far as it is known. */
    readonly suggested?: {
      /** How many blocks to ask for next. */
      blocks: number;
      /** `logs` if other blocks may be answered in larger ranges; default `blocks`, for any request. */
      of?: 'blocks' | 'logs';
      /** How many logs a provider returns at most. */
      logsMax?: number | undefined;
    },
  ) {
    super(message);
  }
}

/** No provider keeps the state of that block: only archive nodes keep that of old ones. Asking again does not help. */
export class StateUnavailable extends Error {
  override readonly name = 'StateUnavailable';
}

/**
 * One EVM chain, read only. Every answer has been validated against its request. Every method throws ChainUnavailable,
 * at once when the reader is closed meanwhile. A head can be lower than the last one: the caller decides what that
 * means.
 */
export interface ChainReader {
  readonly chainId: number;
  /** `eth_getBlockByNumber latest` */
  head(): Promise<BlockHeader>;
  /**
   * `eth_getBlockByNumber` of `latest` and `finalized`, in one batch. The finalized block is never newer than the head, and
   * never older than it was before, unless that one is newer than the head; `undefined` where the chain has no such block, or its
   * providers do not know the name. It may be the `safe` block instead.
   */
  headAndFinalized(): Promise<{ head: BlockHeader; finalized: BlockHeader | undefined }>;
  /**
   * Forgets the newest finalized block seen, so that a provider may report another hash for it. Called once an operator has accepted its
   * loss, or if no stored progress depends on it.
   */
  forgetFinalized(): void;
  /**
   * `eth_getBlockByNumber`, batched, in the requested order; `undefined` for blocks that the provider does not have.
   */
  headersByNumber(numbers: readonly number[]): Promise<(BlockHeader | undefined)[]>;
  /** `eth_getBlockByHash` */
  headerByHash(hash: string): Promise<BlockHeader | undefined>;
  /**
   * `eth_getLogs` by block hash, so that it cannot return logs of another fork; in log order. When it returns none
   * although the bloom promises some, `eth_getLogs` again for the whole block, to check it against the bloom. Once the receipts of a
   * block prove that its bloom promises too much, `usesBlooms` is false.
   */
  logsOfBlock(header: BlockOfLogs, filter: LogFilter, how?: ReadingOfBlock): Promise<ChainLog[]>;
  /**
   * `eth_getLogs` of blocks `from`…`to`, inclusive, in chain order, in one batch with `eth_getBlockByNumber` of `to`:
   * a provider that does not have that block yet would silently omit logs. An answer of so many logs that it may have been cut is
   * compared with others to its first and last blocks. @throws RangeTooLarge, also if it was cut; BlocksRefused
   */
  logsOfRange(from: number, to: number, filter: LogFilter): Promise<ChainLog[]>;
  /**
   * The same of final blocks, from two endpoints where two answer, so that one finds what the other leaves out; in chain
   * order. @throws RangeTooLarge, also if the range is too large for the second one
   */
  logsAgain(from: number, to: number, filter: LogFilter): Promise<LogsAgain>;
  /** `eth_getBlockReceipts`, or `eth_getTransactionReceipt` of each transaction of the block: its logs without an index of them. */
  receiptsOfBlock(header: BlockOfLogs): Promise<ReceiptLogs>;
  /** Whether the blooms of headers are used to find blocks without logs. */
  readonly usesBlooms: boolean;
  /** Compares logs of a block with its bloom. Once one is left out, `usesBlooms` is false. */
  compareWithBloom(header: Pick<BlockHeader, 'logsBloom'>, logs: readonly ChainLog[]): void;
  /** `eth_getCode`, at the head or at a block. Returns whether there is any code. @throws StateUnavailable */
  hasCode(address: string, block?: number): Promise<boolean>;
  /**
   * `eth_getStorageAt` of the slots of EIP-1967 at the head, and `eth_call` of a beacon: which contract a proxy runs; `null`
   * for any other contract. @throws StateUnavailable where no provider tells
   */
  proxyOf(address: string): Promise<WatchedProxy | null>;
  /** Also ends the calls in progress. */
  close(): void;
}
