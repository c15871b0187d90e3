import type { ChainLog, LogFilter } from './chain-reader.ts';

export const passes = ({ address, topics }: ChainLog, filter: LogFilter): boolean =>
  (filter.addresses.length === 0 || filter.addresses.includes(address)) &&
  (filter.topics.length === 0 || filter.topics.includes(topics[0] ?? ''));
