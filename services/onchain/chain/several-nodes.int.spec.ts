import { afterEach, expect, it } from '@jest/globals';
import { ChainClient } from '../../../shared/chain/client/chain-client.ts';
import { ProviderGateway, requestsIn } from '../../../shared/testing/chain/provider-gateway.ts';
import { transactionHash } from '../bundler/domain/bundle-transaction.ts';
import { CONTRACTS } from '../testing/simulated-chain/simulated-contracts.ts';
import { JsonRpcOperationsChain } from './operations-chain.json-rpc.ts';

const GWEI = 10n ** 9n;
const SUGGESTION = 'eth_maxPriorityFeePerGas';
const HISTORY = 'eth_feeHistory';
const SEND = 'eth_sendRawTransaction';
const RAW = '0x02c0';
const PAID = { gasUsedRatio: [0.5], reward: [['0x5d21dba00']] };

interface FakeNode {
  /** The result of each method; the node lacks any other method. */
  results?: Record<string, unknown>;
  /** How the node refuses transactions. */
  refusal?: string;
  /** The node cuts the connection when it is sent a transaction. */
  cuts?: boolean;
  status?: number;
}

const started: { stop: () => unknown }[] = [];
afterEach(async () => {
  for (const one of started.splice(0).reverse()) await one.stop();
});

const answerOf = ({ results = {}, refusal }: FakeNode, method: string): object => {
  if (method === 'eth_chainId') return { result: '0x1' };
  if (method in results) return { result: results[method] };
  if (method === SEND && refusal !== undefined) return { error: { code: -32_000, message: refusal } };
  return { error: { code: -32_601, message: `the method ${method} does not exist/is not available` } };
};

/** Opens a chain whose providers are these nodes. */
const chainOf = async (...nodes: FakeNode[]): Promise<JsonRpcOperationsChain> => {
  const urls = await Promise.all(
    nodes.map(async (node) => {
      const gateway = await ProviderGateway.start('', 'here');
      started.push(gateway);
      gateway.answer = (body) => {
        const requests = requestsIn(body);
        const isSend = requests.some(({ method }) => method === SEND);
        if (isSend && node.cuts) return Promise.reject(new Error('cut'));
        const answers = requests.map(({ id, method }) => ({ jsonrpc: '2.0', id, ...answerOf(node, method) }));
        const status = isSend ? (node.status ?? 200) : 200;
        return Promise.resolve({ status, body: JSON.stringify(body.startsWith('[') ? answers : answers[0]) });
      };
      return gateway.url;
    }),
  );
  const client = new ChainClient(1, urls);
  started.push({ stop: () => client.close() });
  return new JsonRpcOperationsChain(client, { entryPoint: CONTRACTS.entryPoint, accountFactory: CONTRACTS.factory });
};

it.each<[string, FakeNode[], bigint]>([
  ['nothing, if no node has either method', [{}, {}], 0n],
  [
    'what the second node says, if the first lacks both methods',
    [{}, { results: { [SUGGESTION]: '0x5d21dba00' } }],
    25n * GWEI,
  ],
  ['what blocks were paid, if that is more', [{ results: { [SUGGESTION]: '0x1', [HISTORY]: PAID } }], 25n * GWEI],
  ...[null, '0x', '0xzz', 25, {}].map((suggestion): [string, FakeNode[], bigint] => [
    `what blocks were paid, if the suggestion is ${JSON.stringify(suggestion)}`,
    [{ results: { [SUGGESTION]: suggestion, [HISTORY]: PAID } }],
    25n * GWEI,
  ]),
])('a chain asks for the tip of %s', async (_, nodes, tip) => {
  expect(await (await chainOf(...nodes)).tips()).toEqual({ asked: tip, least: 0n });
});

it('a tip that a node names counts until the end of an hour, the highest of several', async () => {
  const named = (tip: bigint) => `transaction underpriced: gas tip cap 1, minimum needed ${String(tip)}`;
  const node = { refusal: named(25n) };
  const chain = await chainOf(node);
  for (const [refusal, least] of [
    [node.refusal, 25n],
    [named(7n), 25n],
    ['intrinsic gas too low: gas 21000, minimum needed 53000', 25n],
    [named(30n), 30n],
  ] as const) {
    node.refusal = refusal;
    await chain.send(RAW);
    expect(await chain.tips()).toEqual({ asked: least, least });
  }
});

it.each([200, 403])(
  'a transaction goes to the next node, if the first takes none and says so by HTTP %p',
  async (status) => {
    const takes = { results: { [SEND]: transactionHash(RAW) } };
    const answer = await (await chainOf({ status }, takes)).send(RAW);
    expect(answer).toEqual({ outcome: 'known', words: '', isElsewhere: false });
    await expect((await chainOf({ status })).send(RAW)).rejects.toThrow(`no provider of chain 1 has ${SEND}`);
  },
);

it('a refusal says whether a node that did not answer may have the transaction', async () => {
  const words = 'transaction underpriced';
  const refused = { outcome: 'pays-too-little', words };
  expect(await (await chainOf({ cuts: true }, { refusal: words })).send(RAW)).toEqual({
    ...refused,
    isElsewhere: true,
  });
  expect(await (await chainOf({ refusal: words })).send(RAW)).toEqual({ ...refused, isElsewhere: false });
});
