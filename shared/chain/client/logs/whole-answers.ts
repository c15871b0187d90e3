import { BLOOM_OF_EVERYTHING } from '../../bloom.ts';
import type { BlockHeader, ChainLog, LogFilter } from '../../chain-reader.ts';
import { checkLogs, InvalidAnswer } from '../answers/checked-answers.ts';
import type { JsonRpcEndpoint } from '../endpoints/json-rpc-endpoint.ts';
import { NoAnswer } from '../endpoints/no-answer.ts';
import { passes } from '../../log-filter.ts';
import { getLogs, requireList, type AnsweredFilter } from './log-requests.ts';
import { receiptsOfBlock } from './receipts-of-block.ts';
import type { BlockRange } from '../refusals/suggested-range.ts';

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
  for (const { filter, logs } of answers) {
    const found = endpoint.rangeLengths.received(logs.length, isAgain);
    if (found === 'whole') continue;
    if (found === 'cut' || (await hasMore(endpoint, range, { filter, logs }, isAgain))) {
      endpoint.rangeLengths.cut(logs.length);
      return logs.length;
    }
    endpoint.rangeLengths.wasWhole(logs.length);
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
  const leftOut: ChainLog[] = [];
  for (const { filter, logs } of answers) {
    if (endpoint.blockLengths.received(logs.length, isAgain) === 'whole') continue;
    const checked = checkLogs(logs, { ...filter, from: block.number, to: block.number });
    const more = await moreByReceipts(endpoint, block, { filter, logs: checked }, isAgain);
    if (more.length > 0) endpoint.blockLengths.cut(logs.length);
    else endpoint.blockLengths.wasWhole(logs.length);
    leftOut.push(...more);
  }
  return leftOut;
};

/**
 * Reads the first blocks of a range once more, up to the first with logs, and the last ones, from the last with logs:
 * wherever the answer was truncated, one of the two reads has more logs. If a single block has all logs, compares it
 * with its receipts.
 */
const hasMore = async (
  endpoint: JsonRpcEndpoint,
  range: BlockRange,
  { filter, logs: answer }: AnsweredFilter,
  isAgain: boolean,
): Promise<boolean> => {
  const logs = checkLogs(answer, { ...filter, ...range });
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

const placeOf = ({ blockHash, logIndex }: ChainLog): string => `${blockHash}/${String(logIndex)}`;

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

const NO_METHOD = /not (exist|available|support|found|implement|allow)|unsupported|unknown method|no such method/i;

const hasNoReceipts = (error: unknown): boolean =>
  error instanceof InvalidAnswer ||
  (error instanceof NoAnswer &&
    (error.why.kind === 'state-pruned' || (error.why.kind === 'other' && NO_METHOD.test(error.message))));
