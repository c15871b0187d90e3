import { inPieces } from '../../../primitives/in-pieces.ts';
import type { RpcCall } from '../answer-limits.ts';
import type { BlockHeader, ChainLog, LogFilter } from '../../chain-reader.ts';
import { inChainOrder } from '../../log-filter.ts';
import { checkLogs, InvalidAnswer } from '../answers/checked-answers.ts';
import { quantity } from '../header-requests.ts';
import type { JsonRpcEndpoint } from '../endpoints/json-rpc-endpoint.ts';
import { NoAnswer } from '../endpoints/no-answer.ts';
import type { BlockRange } from '../refusals/suggested-range.ts';

/** A range, or one block by its hash, so that the answer cannot belong to another fork. */
type Blocks = BlockRange | Pick<BlockHeader, 'hash' | 'number'>;

/** The logs of one answer, as received, and the filter of its request. */
interface AnsweredFilter {
  filter: LogFilter;
  logs: unknown[];
}

/** The logs of one answer, in chain order, and the filter of its request. */
export interface CheckedAnswer {
  filter: LogFilter;
  logs: ChainLog[];
}

/**
 * Asks for logs, and for `also` in the same request (or before, if the endpoint accepts no batches). Uses several calls
 * if the filter has more addresses or topics than the endpoint accepts. Returns the answers to all of them, and the
 * other answers.
 */
export const askLogs = async (
  endpoint: JsonRpcEndpoint,
  blocks: Blocks,
  filter: LogFilter,
  also: readonly RpcCall[] = [],
): Promise<{ answers: AnsweredFilter[]; others: unknown[] }> => {
  for (;;) {
    const most = Math.min(endpoint.filterItemsLimit.value, Math.max(filter.addresses.length, filter.topics.length));
    const parts = partsOf(filter, Math.max(1, most));
    try {
      const results = await endpoint.call([...also, ...parts.map((part) => getLogs(blocks, part))]);
      const answers = parts.map((part, at) => ({ filter: part, logs: requireList(results[also.length + at]) }));
      endpoint.filterItemsLimit.answered(most);
      return { answers, others: results.slice(0, also.length) };
    } catch (error) {
      if (!(error instanceof NoAnswer && error.why.kind === 'too-many-addresses') || most <= 1) throw error;
      endpoint.filterItemsLimit.refused(most);
    }
  }
};

/** Splits a filter, so that each log passes exactly one part. */
const partsOf = ({ addresses, topics }: LogFilter, itemsMax: number): LogFilter[] =>
  slices(addresses, itemsMax).flatMap((some) =>
    slices(topics, itemsMax).map((few) => ({ addresses: some, topics: few })),
  );

/** Keeps an empty list, which matches anything, as one part. */
const slices = <Item>(items: readonly Item[], most: number): (readonly Item[])[] =>
  items.length === 0 ? [items] : inPieces(items, most);

/**
 * Checks each answer against its request.
 * @returns also all logs together, in chain order
 * @throws InvalidAnswer
 */
export const checkAnswers = (
  answers: readonly AnsweredFilter[],
  blocks: BlockRange & { blockHash?: string },
): { checked: CheckedAnswer[]; all: ChainLog[] } => {
  const checked = answers.map(({ filter, logs }) => ({ filter, logs: checkLogs(logs, { ...filter, ...blocks }) }));
  const [only] = checked;
  if (only && checked.length === 1) return { checked, all: only.logs };
  return { checked, all: checked.flatMap(({ logs }) => logs).sort(inChainOrder) };
};

export const getLogs = (blocks: Blocks, { addresses, topics }: LogFilter): RpcCall => ({
  method: 'eth_getLogs',
  params: [
    {
      ...('hash' in blocks
        ? { blockHash: blocks.hash }
        : { fromBlock: quantity(blocks.from), toBlock: quantity(blocks.to) }),
      ...(addresses.length > 0 ? { address: addresses } : {}),
      ...(topics.length > 0 ? { topics: [topics] } : {}),
    },
  ],
  blocks: 'hash' in blocks ? { from: blocks.number, to: blocks.number } : blocks,
});

export const requireList = (answer: unknown): unknown[] => {
  if (!Array.isArray(answer)) throw new InvalidAnswer('the logs are not a list');
  return answer;
};
