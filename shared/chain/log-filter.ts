import type { ChainLog, LogFilter } from './chain-reader.ts';

/** Whether a log passes a filter, as `eth_getLogs` would apply it. */
export const passes = ({ address, topics }: ChainLog, filter: LogFilter): boolean =>
  (filter.addresses.length === 0 || filter.addresses.includes(address)) &&
  (filter.topics.length === 0 || filter.topics.includes(topics[0] ?? ''));
