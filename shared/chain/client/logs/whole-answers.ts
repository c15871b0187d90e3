import { BLOOM_OF_EVERYTHING } from '../../bloom.ts';
import type { BlockHeader, ChainLog } from '../../chain-reader.ts';
import { checkLogs, InvalidAnswer } from '../answers/checked-answers.ts';
import type { JsonRpcEndpoint } from '../endpoints/json-rpc-endpoint.ts';
import { NoAnswer } from '../endpoints/no-answer.ts';
import { EVERY_LOG, passes } from '../../log-filter.ts';
import type { AnswerLengths } from './answer-lengths.ts';
import { getLogs, requireList, type CheckedAnswer } from './log-requests.ts';
import { hasNoReceipts, receiptsOfBlock } from './receipts-of-block.ts';
import { RefusesBlocks } from '../refusals/refused-blocks.ts';
import type { BlockRange } from '../refusals/suggested-range.ts';

/** For longer answers, the probes of longer ones would cost more than the comparison. */
const PROBED_LOGS_MAX = 100;

type Block = Pick<BlockHeader, 'hash' | 'number'>;

/**
 * Checks whether the endpoint silently truncated the logs of a range.
 * @param isAgain whether these blocks are read for the last time
 * @returns the endpoint's maximum number of logs, if an answer was truncated
 */
export const cutOfRange = async (
  endpoint: JsonRpcEndpoint,
  range: BlockRange,
  answers: readonly CheckedAnswer[],
  isAgain: boolean,
): Promise<number | undefined> => {
  const { rangeLengths } = endpoint;
  for (const answer of answers) {
    const { length } = answer.logs;
    const found = rangeLengths.received(length);
    if (found === 'whole' || (found === 'longest' && (await givesLonger(endpoint, rangeLengths, answer)))) continue;
    if (found === 'cut' || (await hasMore(endpoint, range, answer, isAgain))) {
      rangeLengths.cut(length);
      return length;
    }
    if (found === 'round') rangeLengths.wasWhole(length);
  }
  return undefined;
};

/**
 * Returns the logs of a block that the endpoint silently omitted from its answer.
 * @throws RefusesBlocks if the endpoint truncates answers, and has no receipts that tell what is missing
 */
export const leftOutOfBlock = async (
  endpoint: JsonRpcEndpoint,
  block: Block,
  answers: readonly CheckedAnswer[],
  isAgain: boolean,
): Promise<ChainLog[]> => {
  const { blockLengths } = endpoint;
  const leftOut: ChainLog[] = [];
  for (const answer of answers) {
    const { length } = answer.logs;
    const found = blockLengths.received(length);
    if (found === 'whole' || (found === 'longest' && (await givesLonger(endpoint, blockLengths, answer)))) continue;
    const more = await moreByReceipts(endpoint, block, answer, isAgain);
    if (!more && found === 'cut') {
      throw new RefusesBlocks(`it returns ${String(length)} logs at most, and has no receipts of the block`, false);
    }
    if (more && more.length > 0) blockLengths.cut(length);
    else if (found === 'round') blockLengths.wasWhole(length);
    leftOut.push(...(more ?? []));
  }
  return leftOut;
};

/**
 * Asks for more logs than an answer has, to learn that the endpoint returns more: all logs of the newest blocks, which
 * are more than most filters match on a busy chain, and then the logs of the answer's filter of more blocks.
 * @returns whether the endpoint returned a longer answer, so that this answer is whole
 */
const givesLonger = async (
  endpoint: JsonRpcEndpoint,
  lengths: AnswerLengths,
  { filter, logs }: CheckedAnswer,
): Promise<boolean> => {
  const last = logs.at(-1)?.blockNumber;
  const times = logs.length > PROBED_LOGS_MAX ? undefined : endpoint.rangeLengths.probe();
  if (last === undefined || times === undefined) return lengths.isLongerThan(logs.length);
  const head = endpoint.head?.number ?? last;
  const probes = [
    { range: newest(head, 2 ** times), filter: EVERY_LOG },
    { range: newest(last, Math.min(8 ** (times + 1), endpoint.rangeLimit.value)), filter },
  ];
  for (const probe of probes) {
    // Some endpoints refuse requests without a filter, or for so many blocks.
    const [outcome] = await endpoint.tryCall([getLogs(probe.range, probe.filter)]).catch(unlessNone);
    if (!outcome || 'error' in outcome) continue;
    endpoint.rangeLengths.received(checkLogs(outcome.result, { ...probe.filter, ...probe.range }).length);
    if (lengths.isLongerThan(logs.length)) return true;
  }
  return false;
};

const newest = (to: number, blocks: number): BlockRange => ({ from: Math.max(0, to - blocks + 1), to });

const unlessNone = (error: unknown): [] => {
  if (error instanceof NoAnswer) return [];
  throw error;
};

/**
 * Reads the first blocks of a range once more, up to the first with logs, and the last ones, from the last with logs:
 * wherever the answer was truncated, one of the two reads has more logs. If a single block has all logs, compares it
 * with its receipts.
 */
const hasMore = async (
  endpoint: JsonRpcEndpoint,
  range: BlockRange,
  { filter, logs }: CheckedAnswer,
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
  const more = isOneBlock ? await moreByReceipts(endpoint, block, { filter, logs }, isAgain) : undefined;
  return more !== undefined && more.length > 0;
};

const placeOf = ({ blockNumber, logIndex }: ChainLog): string => `${String(blockNumber)}/${String(logIndex)}`;

/**
 * Returns the logs of a block that only its receipts have; `undefined` if the endpoint offers no readable receipts, or,
 * unless this is the last read of the block, if reading them fails.
 */
const moreByReceipts = async (
  endpoint: JsonRpcEndpoint,
  block: Block,
  { filter, logs }: CheckedAnswer,
  isAgain: boolean,
): Promise<ChainLog[] | undefined> => {
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
    if (hasNoReceipts(error) || (error instanceof NoAnswer && !isAgain)) return undefined;
    throw error;
  }
};
