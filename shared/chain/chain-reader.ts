/** A block's header as it is used here; all hex is lower case. */
export interface BlockHeader {
  number: number;
  hash: string;
  parentHash: string;
  /** Unix seconds. */
  timestamp: number;
  /** 256 bytes, `0x` hex; all bits set where the provider's says nothing. */
  logsBloom: string;
}

/** A log that was checked; all hex is lower case. */
export interface ChainLog {
  address: string;
  topics: readonly string[];
  data: string;
  blockNumber: number;
  blockHash: string;
  /** Unix seconds; `undefined` from providers that leave it out. */
  blockTimestamp: number | undefined;
  txHash: string;
  txIndex: number;
  logIndex: number;
}

export interface LogFilter {
  /** Lower case; empty: any. */
  addresses: readonly string[];
  /** First topics; empty: any. */
  topics: readonly string[];
}

/** No provider gave an answer that can be believed; worth trying again later. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable';
}

/** Too many blocks at once, for the provider or for this program's memory: ask for fewer. */
export class RangeTooLarge extends Error {
  override readonly name = 'RangeTooLarge';
}

/**
 * One EVM chain, read only. What it gives has been checked against what was asked. Every method throws ChainUnavailable,
 * at once when the reader is closed meanwhile. A head can be lower than the last one: the caller decides what that means.
 */
export interface ChainReader {
  readonly chainId: number;
  /** `eth_getBlockByNumber latest` */
  head(): Promise<BlockHeader>;
  /** `eth_getBlockByNumber`, batched; `undefined` for blocks that the provider does not have. In the order asked. */
  headersByNumber(numbers: readonly number[]): Promise<(BlockHeader | undefined)[]>;
  /** `eth_getBlockByHash` */
  headerByHash(hash: string): Promise<BlockHeader | undefined>;
  /**
   * `eth_getLogs` by block hash, so that a log of another fork cannot slip in; in log order. Where there are none although
   * the bloom allows some, `eth_getLogs` once more for all of the block, to hold against the bloom.
   */
  logsOfBlock(header: Pick<BlockHeader, 'hash' | 'number' | 'logsBloom'>, filter: LogFilter): Promise<ChainLog[]>;
  /**
   * `eth_getLogs` of blocks `from`…`to`, inclusive, in chain order, in one batch with `eth_getBlockByNumber` of `to`: a
   * provider that is not that far yet would leave logs out without a word. @throws RangeTooLarge
   */
  logsOfRange(from: number, to: number, filter: LogFilter): Promise<ChainLog[]>;
  /** `eth_getCode`, at the head or at a block: whether there is any. */
  hasCode(address: string, block?: number): Promise<boolean>;
  /** Ends what is under way, too. */
  close(): void;
}
