import type { RpcCall } from './answer-limits.ts';
import type { BlockHeader } from '../chain-reader.ts';
import { checkHeader, InvalidAnswer } from './answers/checked-answers.ts';
import type { CallOutcome, JsonRpcEndpoint, RpcFault } from './endpoints/json-rpc-endpoint.ts';
import { NoAnswer } from './endpoints/no-answer.ts';
import { refusalOf } from './refusals/rpc-refusals.ts';

/** More blocks than appear between two polls, and than endpoints of one chain are apart. */
const FAR_BLOCKS = 128;

/** Maximum number of blocks by which a finalized block may be ahead of the head. */
const AHEAD_MAX = 16;

export const quantity = (value: number): string => `0x${value.toString(16)}`;

export const blockByNumber = (number: number): RpcCall => blockByName(quantity(number));
const blockByName = (name: string): RpcCall => ({ method: 'eth_getBlockByNumber', params: [name, false] });
const blockByHash = (hash: string): RpcCall => ({ method: 'eth_getBlockByHash', params: [hash, false] });

const CHAIN_ID: RpcCall = { method: 'eth_chainId', params: [] };
export const LATEST = blockByName('latest');

/** The chain id as the endpoint sent it. */
export const askChainId = async (endpoint: JsonRpcEndpoint, withinMs?: number): Promise<unknown> =>
  (await endpoint.call([CHAIN_ID], withinMs))[0];

/** @throws InvalidAnswer if the answer to `eth_chainId` is another chain */
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

/** The block name by which the newest final block is requested. */
export type FinalName = 'finalized' | 'safe';

/** Returns the head and the newest final block, which is never after the head. */
export const askHeadAndFinalized = async (
  endpoint: JsonRpcEndpoint,
  chainId: number,
  name: FinalName = 'finalized',
): Promise<{ head: BlockHeader; finalized: BlockHeader | undefined }> => {
  const { head, other: finalized } = await askWithHead(endpoint, chainId, blockByName(name));
  const header = isUnknownName(finalized, endpoint) ? undefined : checkHeader(resultOf(finalized));
  return { head, finalized: header && (await finalUpTo(endpoint, head, header)) };
};

/**
 * Behind a gateway, the head may come from a node that lags behind the finalized block. If the finalized block descends
 * from the head, the head is final and is returned instead.
 */
const finalUpTo = async (
  endpoint: JsonRpcEndpoint,
  head: BlockHeader,
  finalized: BlockHeader,
): Promise<BlockHeader> => {
  const ahead = finalized.number - head.number;
  if (ahead <= 0) return finalized;
  if (ahead <= AHEAD_MAX) {
    const between = Array.from({ length: ahead - 1 }, (_, index) => head.number + 1 + index);
    const later = between.length > 0 ? await askHeaders(endpoint, between) : [];
    let before: BlockHeader | undefined = head;
    for (const header of [...later, finalized]) before = header?.parentHash === before?.hash ? header : undefined;
    if (before) return head;
  }
  throw new InvalidAnswer('the finalized block is newer than the head');
};

export const headerOfNumber = (answer: unknown, number: number | undefined): BlockHeader | undefined => {
  const header = checkHeader(answer);
  if (header && header.number !== number) throw new InvalidAnswer('the header is of another block');
  return header;
};

/**
 * Asks for the head, and for something else in the same request. A head far from the endpoint's last one may come from
 * another chain, if a gateway misrouted the request: it is accepted only with the right chain id in the same request.
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

const requireHead = (latest: CallOutcome | undefined): BlockHeader => requireBlock(checkHeader(resultOf(latest)));

/** @throws InvalidAnswer if the newest block is missing */
export const requireBlock = <Block>(block: Block | undefined): Block => {
  if (!block) throw new InvalidAnswer('there is no latest block');
  return block;
};

const resultOf = (outcome: CallOutcome | undefined): unknown => {
  if (!outcome || 'result' in outcome) return outcome?.result;
  const { code, message } = outcome.error;
  throw new NoAnswer(refusalOf(message, { code }), message);
};

/**
 * Whether a node has no block of that name, or does not know the name. Texts and codes for that differ, so any other
 * refusal counts too once it is repeated often enough: otherwise the chain would never be followed.
 */
const isUnknownName = (outcome: CallOutcome | undefined, endpoint: JsonRpcEndpoint): boolean => {
  if (!outcome || 'result' in outcome || saysUnknownName(outcome.error)) {
    endpoint.finalizedRefusals = 0;
    return outcome !== undefined && 'error' in outcome;
  }
  if (isOfCaller(outcome.error)) return false;
  endpoint.finalizedRefusals += 1;
  return endpoint.finalizedRefusals > ODD_REFUSALS_MAX;
};

/** About half a minute of a follower that retries its start. */
const ODD_REFUSALS_MAX = 12;
/** JSON-RPC's invalid parameters, EIP-1474's missing resource, and the unknown block of the Engine API, which Nethermind uses. */
const UNKNOWN_CODES: readonly (number | undefined)[] = [-32_602, -32_001, -39_001];
const UNKNOWN_NAME =
  /(finalized|\bsafe|\btag|block ?(number|tag|parameter))\b.{0,60}\b(not (found|supported|valid|known)|unsupported|unknown|invalid)|(unknown|invalid|unsupported|unexpected) (variant|block|argument|tag|value|quantity|params?)|0x prefix|prefixed with \W?0x/i;

const saysUnknownName = (error: RpcFault): boolean => {
  const { code, message } = error;
  if (isOfCaller(error)) return false;
  return kindOf(error) === 'beyond-head' || UNKNOWN_CODES.includes(code) || UNKNOWN_NAME.test(message);
};

/** Whether the refusal concerns the caller and its rate, not the request. */
const isOfCaller = (error: RpcFault): boolean => ['rate-limited', 'billing'].includes(kindOf(error));

const kindOf = ({ code, message }: RpcFault) => refusalOf(message, { code }).kind;
