import { bloomMayContain } from '../../../shared/chain/bloom.ts';
import type { BlockHeader, ChainLog, LogFilter } from '../../../shared/chain/chain-reader.ts';
import type { Watch } from './watched-event.ts';

/** More addresses than this, and the block's logs are asked for without naming any. */
const ADDRESSES_MAX = 500;

export const filterFor = (watches: readonly Watch[]): LogFilter => {
  const addresses = [...new Set(watches.map(({ contract }) => contract))];
  const topics = watches.map(({ topic0 }) => topic0);
  return {
    addresses: addresses.length > ADDRESSES_MAX ? [] : addresses,
    topics: topics.includes(null) ? [] : [...new Set(topics.filter((topic) => topic !== null))],
  };
};

/** Those that may have logs in a block; the others certainly have none. */
export const possibleIn = ({ logsBloom, number }: BlockHeader, watches: readonly Watch[]): Watch[] =>
  watches.filter(
    ({ bloom, startBlock }) => startBlock <= number && bloom.every((bits) => bloomMayContain(logsBloom, bits)),
  );

/** Finds the watch a log belongs to: by contract and first topic, else an anonymous event whose layout it has. */
export const matcherFor = (watches: readonly Watch[]): ((log: ChainLog) => Watch | undefined) => {
  const named = new Map<string, Map<string, Watch>>();
  for (const watch of watches) {
    if (watch.topic0 === null) continue;
    const ofContract = named.get(watch.contract) ?? new Map<string, Watch>();
    named.set(watch.contract, ofContract.set(watch.topic0, watch));
  }
  const anonymous = Map.groupBy(
    watches.filter(({ topic0 }) => topic0 === null),
    ({ contract }) => contract,
  );
  return (log) =>
    named.get(log.address)?.get(log.topics[0] ?? '') ?? anonymous.get(log.address)?.find(({ matches }) => matches(log));
};
