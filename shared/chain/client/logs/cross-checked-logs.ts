import { isDeepStrictEqual } from 'node:util';
import type { ChainLog, CrossCheckedLogs } from '../../chain-reader.ts';
import { inChainOrder } from '../../log-filter.ts';

/** Merges the answers of several endpoints to one request for logs, in chain order. */
export const mergeAnswers = (answers: readonly (readonly ChainLog[])[]): CrossCheckedLogs => {
  const byPlace = new Map<string, ChainLog>();
  const hashes = new Map<number, string>();
  const disputed = new Set<number>();
  for (const log of answers.flat()) {
    const { blockNumber, blockHash, logIndex } = log;
    const place = `${String(blockNumber)}/${String(logIndex)}`;
    const known = byPlace.get(place);
    if ((hashes.get(blockNumber) ?? blockHash) !== blockHash || (known && !isSame(known, log)))
      disputed.add(blockNumber);
    hashes.set(blockNumber, hashes.get(blockNumber) ?? blockHash);
    if (!known) byPlace.set(place, log);
  }
  const logs = [...byPlace.values()].sort(inChainOrder);
  return { logs, disputed: [...disputed], endpoints: answers.length };
};

/** Compares without the block's time, which not every endpoint sends with its logs. */
const isSame = (left: ChainLog, right: ChainLog): boolean =>
  isDeepStrictEqual({ ...left, blockTimestamp: 0 }, { ...right, blockTimestamp: 0 });
