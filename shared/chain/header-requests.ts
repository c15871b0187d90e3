import type { RpcCall } from './answer-limits.ts';
import type { BlockHeader } from './chain-reader.ts';
import { checkHeader, InvalidAnswer } from './checked-answers.ts';
import { NoAnswer, type CallOutcome, type JsonRpcEndpoint } from './json-rpc-endpoint.ts';
import { refusalOf } from './rpc-refusals.ts';

/** More blocks than come between two looks, and than endpoints of one chain are apart. */
const FAR_BLOCKS = 128;

export const quantity = (value: number): string => `0x${value.toString(16)}`;

export const blockByNumber = (number: number): RpcCall => blockByName(quantity(number));
const blockByName = (name: string): RpcCall => ({ method: 'eth_getBlockByNumber', params: [name, false] });
const blockByHash = (hash: string): RpcCall => ({ method: 'eth_getBlockByHash', params: [hash, false] });

const CHAIN_ID: RpcCall = { method: 'eth_chainId', params: [] };
const LATEST = blockByName('latest');

/** As it came. */
export const askChainId = async (endpoint: JsonRpcEndpoint): Promise<unknown> => (await endpoint.call([CHAIN_ID]))[0];

/** @throws InvalidAnswer if an endpoint's answer to `eth_chainId` is another chain */
export const requireChainId = (answer: unknown, chainId: number): void => {
  if (Number(answer) !== chainId) throw new InvalidAnswer(`the endpoint serves chain ${String(answer)}`);
};

export const askHead = async (endpoint: JsonRpcEndpoint, chainId: number): Promise<BlockHeader> =>
  (await askWithHead(endpoint, chainId)).head;

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
  chainId: number,
): Promise<{ head: BlockHeader; finalized: BlockHeader | undefined }> => {
  const { head, other: finalized } = await askWithHead(endpoint, chainId, blockByName('finalized'));
  const header = isUnknownName(finalized) ? undefined : checkHeader(resultOf(finalized));
  if (header && header.number > head.number) throw new InvalidAnswer('the finalized block is newer than the head');
  return { head, finalized: header };
};

export const headerOfNumber = (answer: unknown, number: number | undefined): BlockHeader | undefined => {
  const header = checkHeader(answer);
  if (header && header.number !== number) throw new InvalidAnswer('the header is of another block');
  return header;
};

/**
 * Asks for the head, and in the same request for something else. A head far from the endpoint's last one may be that of another
 * chain, to which a gateway has sent the request: it is believed only with the right chain id in the same request.
 */
const askWithHead = async (
  endpoint: JsonRpcEndpoint,
  chainId: number,
  also?: RpcCall,
): Promise<{ head: BlockHeader; other: CallOutcome | undefined }> => {
  const calls = also ? [LATEST, also] : [LATEST];
  if (endpoint.head) {
    const [latest, other] = await endpoint.tryCall(calls);
    const head = requireHead(latest);
    if (Math.abs(head.number - endpoint.head.number) <= FAR_BLOCKS) {
      endpoint.head = head;
      return { head, other };
    }
  }
  const [served, latest, other] = await endpoint.tryCall([CHAIN_ID, ...calls]);
  requireChainId(resultOf(served), chainId);
  const head = requireHead(latest);
  endpoint.head = head;
  return { head, other };
};

const requireHead = (latest: CallOutcome | undefined): BlockHeader => {
  const header = checkHeader(resultOf(latest));
  if (!header) throw new InvalidAnswer('there is no latest block');
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
