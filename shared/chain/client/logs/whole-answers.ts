import { BLOOM_OF_EVERYTHING } from '../../bloom.ts';
import type { BlockHeader, ChainLog, LogFilter } from '../../chain-reader.ts';
import { checkLogs, InvalidAnswer } from '../answers/checked-answers.ts';
import type { JsonRpcEndpoint } from '../endpoints/json-rpc-endpoint.ts';
import { NoAnswer } from '../endpoints/no-answer.ts';
import { passes } from '../../log-filter.ts';
import type { AnswerLengths } from './answer-lengths.ts';
import { getLogs, requireList, type AnsweredFilter } from './log-requests.ts';
import { hasNoReceipts, receiptsOfBlock } from './receipts-of-block.ts';
import type { BlockRange } from '../refusals/suggested-range.ts';

const ANY: LogFilter = { addresses: [], topics: [] };

type Block = Pick<BlockHeader, 'hash' | 'number'>;

/**
 * Checks whether the endpoint silently truncated the logs of a range.
 * @param isAgain whether these blocks are read for the last time
 * @returns the endpoint's maximum number of logs, if an answer was truncated
 */
export const cutOfRange = async (
  endpoint: JsonRpcEndpoint,
  range: BlockRange,
  answers: readonly AnsweredFilter[],
  isAgain: boolean,
): Promise<number | undefined> => {
  const { rangeLengths } = endpoint;
  for (const { filter, logs } of answers) {
    const found = rangeLengths.received(logs.length);
    if (found === 'whole') continue;
    const checked = checkLogs(logs, { ...filter, ...range });
    if (found === 'longest' && (await givesLonger(endpoint, rangeLengths, logs.length, checked))) continue;
    if (found === 'cut' || (await hasMore(endpoint, range, { filter, logs: checked }, isAgain))) {
      rangeLengths.cut(logs.length);
      return logs.length;
    }
    if (found === 'round') rangeLengths.wasWhole(logs.length);
  }
  return undefined;
};

/** Returns the logs of a block that the endpoint silently omitted from its answer. */
export const leftOutOfBlock = async (
  endpoint: JsonRpcEndpoint,
  block: Block,
  answers: readonly AnsweredFilter[],
  isAgain: boolean,
): Promise<ChainLog[]> => {
  const { blockLengths } = endpoint;
  const leftOut: ChainLog[] = [];
  for (const { filter, logs } of answers) {
    const found = blockLengths.received(logs.length);
    if (found === 'whole') continue;
    const checked = checkLogs(logs, { ...filter, from: block.number, to: block.number });
    if (found === 'longest' && (await givesLonger(endpoint, blockLengths, logs.length, checked))) continue;
    const more = await moreByReceipts(endpoint, block, { filter, logs: checked }, isAgain);
    if (more.length > 0) blockLengths.cut(logs.length);
    else if (found === 'round') blockLengths.wasWhole(logs.length);
    leftOut.push(...more);
  }
  return leftOut;
};

/**
 * Requests all logs of the last blocks of an answer, without a filter. On a busy chain these are more than most filters
 * match, so that this one request shows that shorter answers are whole.
 * @returns whether the endpoint returned a longer answer, so that this answer is whole
 */
const givesLonger = async (
  endpoint: JsonRpcEndpoint,
  lengths: AnswerLengths,
  length: number,
  logs: readonly ChainLog[],
): Promise<boolean> => {
  const to = logs.at(-1)?.blockNumber;
  const blocks = to === undefined ? undefined : endpoint.rangeLengths.blocksToProbe();
  if (to === undefined || blocks === undefined) return false;
  const probed = { from: Math.max(0, to - blocks + 1), to };
  try {
    const [answer] = await endpoint.call([getLogs(probed, ANY)]);
    const all = requireList(answer);
    checkLogs(all, { ...ANY, ...probed });
    endpoint.rangeLengths.received(all.length);
  } catch (error) {
    // Some endpoints refuse requests without a filter.
    if (!(error instanceof NoAnswer || error instanceof InvalidAnswer)) throw error;
  }
  return lengths.isLongerThan(length);
};

/**
 * Reads the first blocks of a range once more, up to the first with logs, and the last ones, from the last with logs:
 * wherever the answer was truncated, one of the two reads has more logs. If a single block has all logs, compares it
 * with its receipts.
 */
const hasMore = async (
  endpoint: JsonRpcEndpoint,
  range: BlockRange,
  { filter, logs }: { filter: LogFilter; logs: readonly ChainLog[] },
  isAgain: boolean,
): Promise<boolean> => {
  const [first, last] = [logs[0], logs.at(-1)];
  if (!first || !last) return false;
  const isOneBlock = first.blockNumber === last.blockNumber;
  const beside = isOneBlock ? 1 : 0;
  const ends = [
    { from: range.from, to: first.blockNumber - beside },
    { from: last.blockNumber + beside, to: range.to },
  ].filter(({ from, to }) => from <= to);
  const answers = await endpoint.call(ends.map((end) => getLogs(end, filter)));
  for (const [at, end] of ends.entries()) {
    const again = new Set(checkLogs(requireList(answers[at]), { ...filter, ...end }).map(placeOf));
    const before = logs.filter(({ blockNumber }) => end.from <= blockNumber && blockNumber <= end.to).map(placeOf);
    if (before.some((place) => !again.has(place))) throw new InvalidAnswer('logs that it gave before are missing');
    if (again.size > before.length) return true;
  }
  const block = { number: first.blockNumber, hash: first.blockHash };
  return isOneBlock && (await moreByReceipts(endpoint, block, { filter, logs }, isAgain)).length > 0;
};

const placeOf = ({ blockNumber, logIndex }: ChainLog): string => `${String(blockNumber)}/${String(logIndex)}`;

/**
 * Returns the logs of a block that only its receipts have; none if the endpoint offers no readable receipts. If reading
 * the receipts fails, accepts the logs as they are, unless this is their last read.
 */
const moreByReceipts = async (
  endpoint: JsonRpcEndpoint,
  block: Block,
  { filter, logs }: { filter: LogFilter; logs: readonly ChainLog[] },
  isAgain: boolean,
): Promise<ChainLog[]> => {
  const known = new Set(logs.map(placeOf));
  try {
    // Here the receipts need not explain the bloom.
    const asked = { ...block, logsBloom: BLOOM_OF_EVERYTHING };
    const receipts = await receiptsOfBlock(endpoint, asked).catch((error: unknown) => {
      if (!(error instanceof InvalidAnswer)) throw error;
      // A gateway may have asked a node that is on another fork.
      return receiptsOfBlock(endpoint, asked);
    });
    return receipts.logs.filter((log) => passes(log, filter) && !known.has(placeOf(log)));
  } catch (error) {
    if (hasNoReceipts(error) || (error instanceof NoAnswer && !isAgain)) return [];
    throw error;
  }
};
