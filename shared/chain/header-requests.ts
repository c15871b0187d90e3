import type { RpcCall } from './answer-limits.ts';
import type { BlockHeader } from './chain-reader.ts';
import { checkHeader, InvalidAnswer } from './checked-answers.ts';
import { NoAnswer, type CallOutcome, type JsonRpcEndpoint } from './json-rpc-endpoint.ts';
import { refusalOf } from './rpc-refusals.ts';

export const quantity = (value: number): string => `0x${value.toString(16)}`;

export const blockByNumber = (number: number): RpcCall => blockByName(quantity(number));
const blockByName = (name: string): RpcCall => ({ method: 'eth_getBlockByNumber', params: [name, false] });
const blockByHash = (hash: string): RpcCall => ({ method: 'eth_getBlockByHash', params: [hash, false] });

/** As it came. */
export const askChainId = async (endpoint: JsonRpcEndpoint): Promise<unknown> =>
  (await endpoint.call([{ method: 'eth_chainId', params: [] }]))[0];

export const askHead = async (endpoint: JsonRpcEndpoint): Promise<BlockHeader> => {
  const [answer] = await endpoint.call([blockByName('latest')]);
  return requireHead(answer, endpoint);
};

export const askHeaders = async (
  endpoint: JsonRpcEndpoint,
  numbers: readonly number[],
): Promise<(BlockHeader | undefined)[]> => {
  const answers = await endpoint.call(numbers.map(blockByNumber));
  return answers.map((answer, at) => {
    const header = headerOfNumber(answer, numbers[at]);
    if (!header && (numbers[at] ?? 0) <= (endpoint.head?.number ?? -1)) {
      throw new InvalidAnswer('it does not have a block that is older than its newest');
    }
    return header;
  });
};

export const askHeaderByHash = async (endpoint: JsonRpcEndpoint, hash: string): Promise<BlockHeader | undefined> => {
  const [answer] = await endpoint.call([blockByHash(hash)]);
  const header = checkHeader(answer);
  if (header && header.hash !== hash) throw new InvalidAnswer('the header is of another block');
  return header;
};

/** No block after the head is final. */
export const askHeadAndFinalized = async (
  endpoint: JsonRpcEndpoint,
): Promise<{ head: BlockHeader; finalized: BlockHeader | undefined }> => {
  const [latest, finalized] = await endpoint.tryCall([blockByName('latest'), blockByName('finalized')]);
  const head = requireHead(resultOf(latest), endpoint);
  const header = isUnknownName(finalized) ? undefined : checkHeader(resultOf(finalized));
  if (header && header.number > head.number) throw new InvalidAnswer('the finalized block is newer than the head');
  return { head, finalized: header };
};

export const headerOfNumber = (answer: unknown, number: number | undefined): BlockHeader | undefined => {
  const header = checkHeader(answer);
  if (header && header.number !== number) throw new InvalidAnswer('the header is of another block');
  return header;
};

const requireHead = (answer: unknown, endpoint: JsonRpcEndpoint): BlockHeader => {
  const header = checkHeader(answer);
  if (!header) throw new InvalidAnswer('there is no latest block');
  endpoint.head = header;
  return header;
};

const resultOf = (outcome: CallOutcome | undefined): unknown => {
  if (!outcome || 'result' in outcome) return outcome?.result;
  const { code, message } = outcome.error;
  throw new NoAnswer(refusalOf(message, { code }), message);
};

/** Whether a node refuses the name of a block, and not to answer at all. Nodes have no text or code in common for it. */
const isUnknownName = (outcome: CallOutcome | undefined): boolean => {
  if (!outcome || 'result' in outcome) return false;
  const { code, message } = outcome.error;
  return !['rate-limited', 'billing'].includes(refusalOf(message, { code }).kind);
};
