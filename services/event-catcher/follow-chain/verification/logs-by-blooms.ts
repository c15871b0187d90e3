import { setImmediate } from 'node:timers/promises';
import { bitsOfBloom, BLOOM_OF_EVERYTHING } from '../../../../shared/chain/bloom.ts';
import {
  ChainUnavailable,
  type BlockHeader,
  type ChainLog,
  type ChainReader,
  type LogFilter,
} from '../../../../shared/chain/chain-reader.ts';
import { filterByBloom, filterFor, matcherFor, type WatchedEvent } from '../watched-event.ts';

/** Of so many headers blooms are compared at a time. */
export const BLOOMS_AT_ONCE = 100;
/** So many of their blocks are asked for at most, unless one of them has logs that were left out. */
const BLOCKS_MAX = 20;

/** Tells which blocks have records of a watch. */
export type HasRecords = (watchId: string, block: number) => boolean;

/**
 * Asks one by one for blocks whose blooms promise logs of which there are none, first those whose bloom excludes most: the bloom of
 * a full block promises everything. `eth_getBlockByNumber` of each block, then as `logsOfBlock` does.
 * @returns the logs that were left out, the headers of all blocks, and how many calls were made
 */
export const logsByBlooms = async (
  reader: ChainReader,
  watches: readonly WatchedEvent[],
  { from, to }: { from: number; to: number },
  hasRecords: HasRecords,
): Promise<{ logs: ChainLog[]; headers: readonly BlockHeader[]; calls: number }> => {
  const numbers = Array.from({ length: to - from + 1 }, (_, at) => from + at);
  const headers = (await reader.headersByNumber(numbers)).filter((header) => header !== undefined);
  const promising: { header: BlockHeader; promised: WatchedEvent[]; bits: number }[] = [];
  for (const header of headers) {
    if (header.logsBloom === BLOOM_OF_EVERYTHING) continue;
    // With thousands of watches this takes a while, and others have their turn.
    await setImmediate();
    const promised = filterByBloom(header, watches).filter(({ id }) => !hasRecords(id, header.number));
    if (promised.length > 0) promising.push({ header, promised, bits: bitsOfBloom(header.logsBloom) });
  }
  promising.sort((left, right) => left.bits - right.bits);
  const logs: ChainLog[] = [];
  let asked = 0;
  for (const { header, promised } of promising) {
    if (asked >= BLOCKS_MAX && logs.length === 0) break;
    asked += 1;
    const isPromised = matcherFor(promised);
    const found = await logsOfBlock(reader, header, filterFor(promised));
    logs.push(...found.filter((log) => isPromised(log).length > 0));
  }
  return { logs, headers, calls: numbers.length + asked };
};

/** An endpoint that leaves out logs of its index may still have their receipts. */
const logsOfBlock = async (reader: ChainReader, header: BlockHeader, filter: LogFilter): Promise<ChainLog[]> => {
  try {
    return await reader.logsOfBlock(header, filter, { isAgain: true });
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error;
    const receipts = await reader.receiptsOfBlock(header).catch(() => {
      throw error;
    });
    return receipts.logs;
  }
};
