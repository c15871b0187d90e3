import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ChainClient } from '../../../shared/chain/client/chain-client.ts';
import { JsonRpcChainReader } from '../../../shared/chain/client/chain-reader.json-rpc.ts';
import { MemoryChain } from '../../../shared/testing/chain/chain-reader.memory.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { JsonRpcNode } from '../../../shared/testing/chain/json-rpc-node.ts';
import { RpcError } from '../../../shared/testing/chain/wire-forms.ts';
import { TOKEN, transferAbi } from '../testing/routes/catcher-fixtures.ts';
import { sampleLogs } from './sample-logs.ts';
import { resolveStartBlock } from './start-block.ts';

const KEY = 'a-secret-key-of-the-provider';
/** Longer than an answer of the node takes, however busy the machine is. */
const LONG_MS = 30_000;

describe('a registration that a node makes impossible', () => {
  let node: JsonRpcNode;
  let reader: JsonRpcChainReader;
  beforeEach(async () => {
    const chain = new MemoryChain(2484);
    for (let block = 0; block < 3; block += 1) chain.mine([{ address: TOKEN.toLowerCase(), topics: [], data: '0x' }]);
    node = await JsonRpcNode.start(chain);
    reader = new JsonRpcChainReader(new ChainClient(2484, [`${node.url}/v2/${KEY}`], { withinMs: LONG_MS }));
  });
  afterEach(async () => {
    reader.close();
    await node.stop();
  });

  const refusing = (refused: string | RegExp, message: string): void => {
    node.lie = (method, truth) => {
      if (new RegExp(refused).test(method)) throw new RpcError(message);
      return truth;
    };
  };
  const detailOf = async (outcome: Promise<unknown>): Promise<string> => {
    const error = await outcome.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof Refusal)) throw new Error('it was not refused', { cause: error });
    expect([error.code, error.retryAfter]).toEqual(['dependency_unavailable', 1]);
    expect(error.detail).not.toContain(KEY);
    expect(error.detail).not.toContain(new URL(node.url).host);
    return error.detail;
  };
  const registering = (asked: number | 'deploy' = 1, withinMs = LONG_MS) =>
    resolveStartBlock(reader, TOKEN, asked, withinMs);

  it('says what the node refuses, in its words, without the key that is in them', async () => {
    refusing('eth_getBlockByNumber', `the project of ${node.url}/v2/${KEY} is suspended`);
    expect(await detailOf(registering())).toMatch(/^the chain cannot be read now: the head .*is suspended$/);
  });

  it('says which call it does not have', async () => {
    refusing('eth_getCode', 'the method eth_getCode does not exist');
    expect(await detailOf(registering('deploy'))).toMatch(
      /no provider of chain 2484 has eth_getCode: .*eth_getCode does not exist/,
    );
  });

  it('says that it is one of another chain', async () => {
    node.lie = (method, truth) => (method === 'eth_chainId' ? '0x1' : truth);
    expect(await detailOf(registering())).toMatch(/the head of chain 2484: .*serves chain 0x1$/);
  });

  it('says what is wrong with a block or a log', async () => {
    node.lie = (method, truth) => (method === 'eth_getBlockByNumber' ? { ...(truth as object), hash: '0x12' } : truth);
    expect(await detailOf(registering())).toMatch(/hash/);
    refusing(/eth_getLogs|Receipt/, 'the index of logs is being built');
    const transfer = { topic0: null, fragment: { ...transferAbi, anonymous: true }, contractAddress: TOKEN };
    const sampled = sampleLogs(reader, transfer, { from: 0, to: 3, withinMs: LONG_MS });
    expect(await detailOf(sampled)).toMatch(/logs of blocks 3 to 3 .*the index of logs is being built/);
  });

  it('says that nothing was answered in time', async () => {
    node.respond = () => undefined;
    expect(await detailOf(registering(1, 20))).toBe(
      'the chain cannot be read now: its providers did not answer in time',
    );
  });
});
