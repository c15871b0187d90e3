import type { ChainLog, LogFilter } from './chain-reader.ts';

/** Passed by every log. */
export const EVERY_LOG: LogFilter = { addresses: [], topics: [] };

/** The order of the chain: by block, then by index in the block. For `sort`. */
export const inChainOrder = (left: ChainLog, right: ChainLog): number =>
  left.blockNumber - right.blockNumber || left.logIndex - right.logIndex;

/** Whether a log passes a filter, as `eth_getLogs` would apply it. */
export const passes = ({ address, topics }: ChainLog, filter: LogFilter): boolean =>
  (filter.addresses.length === 0 || filter.addresses.includes(address)) &&
  (filter.topics.length === 0 || filter.topics.includes(topics[0] ?? ''));
