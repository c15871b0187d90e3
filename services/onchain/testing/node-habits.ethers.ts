import { Transaction } from 'ethers';
import { callNode } from '../../../shared/testing/chain/call-node.ts';
import {
  changing,
  ProviderGateway,
  refusing,
  requestsIn,
  type RpcRefusal,
  type RpcRequest,
} from '../../../shared/testing/chain/provider-gateway.ts';

/** How a node differs from anvil. */
export interface NodeHabits {
  /** The node refuses transactions with a lower tip, in wei per gas. */
  leastTip?: bigint;
  /** The node answers to no transaction before this is resolved. */
  takesTransactionsAfter?: Promise<unknown>;
  /** The tip that the node suggests, in wei per gas. */
  suggests?: bigint;
  /** Methods that the node does not have. */
  lacks?: readonly string[];
  /** The node takes `eth_call` without a third parameter only. */
  takesNoOverrides?: boolean;
  /** The node refuses requests with more calls. */
  batchMax?: number;
  /** The node refuses a transaction as long as no block has the one before, as Hardhat's does. */
  queuesNothing?: boolean;
}

/** Starts a node in front of another node, with these habits, which a test may change later. */
export const startNodeWith = async (habits: NodeHabits, nodeUrl: string): Promise<ProviderGateway> => {
  const node = await ProviderGateway.start(nodeUrl, 'here');
  const change = changing(({ method }, result) =>
    method === 'eth_maxPriorityFeePerGas' && habits.suggests !== undefined ? quantity(habits.suggests) : result,
  );
  const error: RpcRefusal = { code: -32_600, message: 'batch too large' };
  node.answer = async (body, honest) => {
    const requests = requestsIn(body);
    if (requests.length > (habits.batchMax ?? Infinity)) return JSON.stringify([{ jsonrpc: '2.0', id: null, error }]);
    if (requests.some(({ method }) => method === SEND)) await habits.takesTransactionsAfter;
    const early = habits.queuesNothing === true ? await tooEarly(requests, nodeUrl) : [];
    const refuse = refusing((asked) => (early.includes(asked.id) ? NONCE_TOO_HIGH : refusalBy(habits, asked)));
    return change(body, () => refuse(body, honest));
  };
  return node;
};

const NONCE_TOO_HIGH: RpcRefusal = { code: -32_000, message: 'nonce too high' };

/** Returns the ids of the requests that send a transaction while no block has the sender's transaction before. */
const tooEarly = async (requests: readonly RpcRequest[], nodeUrl: string): Promise<unknown[]> => {
  const sends = requests.filter(({ method }) => method === SEND);
  const early = sends.map(async ({ id, params }) => {
    const { from, nonce } = Transaction.from(String(params[0]));
    return nonce > Number(await callNode(nodeUrl, 'eth_getTransactionCount', [from, 'latest'])) ? [id] : [];
  });
  return (await Promise.all(early)).flat();
};

const SEND = 'eth_sendRawTransaction';
const quantity = (wei: bigint): string => `0x${wei.toString(16)}`;

/** In the words of geth. */
const refusalBy = (
  { leastTip = 0n, lacks = [], takesNoOverrides = false }: NodeHabits,
  { method, params }: RpcRequest,
): RpcRefusal | undefined => {
  if (lacks.includes(method)) return { code: -32_601, message: `the method ${method} does not exist/is not available` };
  if (takesNoOverrides && method === 'eth_call' && params.length > 2)
    return { code: -32_602, message: 'too many arguments, want at most 2' };
  if (method !== SEND) return undefined;
  const { maxPriorityFeePerGas, gasPrice } = Transaction.from(String(params[0]));
  const tip = maxPriorityFeePerGas ?? gasPrice ?? 0n;
  if (tip >= leastTip) return undefined;
  const message = `transaction underpriced: gas tip cap ${String(tip)}, minimum needed ${String(leastTip)}`;
  return { code: -32_000, message };
};
