import { setImmediate } from 'node:timers/promises';
import { bitsOfBloom, BLOOM_OF_EVERYTHING } from '../../../../shared/chain/bloom.ts';
import {
  ChainUnavailable,
  type BlockHeader,
  type ChainLog,
  type ChainReader,
  type LogFilter,
} from '../../../../shared/chain/chain-reader.ts';
import { filterByBloom, filterFor, matcherFor, type WatchedEvent } from '../watches/watched-event.ts';

/** The most block headers whose bloom filters are compared with the logs at a time. */
export const BLOOMS_AT_ONCE = 100;
/** The search for withheld logs ends if it has found none after requesting this many blocks. */
const BLOCKS_MAX = 20;

/** Tells whether a watch has a record, read or stored, in a block. */
export type HasRecords = (watchId: string, block: number) => boolean;

/**
 * Finds logs that an endpoint withholds. Requests, one by one, the blocks whose blooms promise logs that were not
 * returned. The most selective blooms come first: the bloom of a full block promises almost everything. Calls
 * `eth_getBlockByNumber` for each block, then the methods of `logsOfBlock`.
 * @returns the withheld logs, the headers of all blocks, and the number of calls
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
    // Lets other work run between two blocks: with thousands of watches, comparing a bloom takes a while.
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

/**
 * Reads a block's logs. If no endpoint returns them, takes the logs from the block's receipts, which an endpoint that
 * withholds logs may still return.
 */
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
