import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JsonRpcNode } from '../../../testing/chain/json-rpc-node.ts';
import { RpcError, toWireHeader, toWireReceipt } from '../../../testing/chain/wire-forms.ts';
import { BLOOM_OF_EVERYTHING, BLOOM_OF_NOTHING, bloomOf } from '../../bloom.ts';
import { ChainClient } from '../chain-client.ts';
import { JsonRpcChainReader } from '../chain-reader.json-rpc.ts';
import { MemoryChain } from '../../../testing/chain/chain-reader.memory.ts';

const ADDRESS = `0x${'a1'.repeat(20)}`;
const OTHER = `0x${'b2'.repeat(20)}`;
const FILTER = { addresses: [ADDRESS], topics: [] };
const logOf = (address: string) => ({ address, topics: [], data: '0x' });
const announced = bloomOf([logOf(ADDRESS), logOf(OTHER)]);
const LIMITS = { withinMs: 30_000, quarantineMs: 1 };

describe('a bloom that announces logs that are not there', () => {
  const chain = new MemoryChain(2484);
  const empty = { ...chain.mine([]), logsBloom: announced };
  const other = { ...chain.mine([logOf(OTHER)]), logsBloom: announced };
  const right = chain.mine([logOf(ADDRESS), logOf(OTHER)]);
  let nodes: JsonRpcNode[];
  let reader: JsonRpcChainReader;
  let told: string[];
  beforeEach(async () => {
    nodes = await Promise.all([1, 2].map(() => JsonRpcNode.start(chain)));
    for (const node of nodes)
      node.lie = (method, truth) =>
        method.startsWith('eth_getBlockBy') ? { ...(truth as object), logsBloom: announced } : truth;
    told = [];
    open(1);
  });
  afterEach(async () => {
    reader.close();
    await Promise.all(nodes.map((node) => node.stop()));
  });

  const open = (count: number) => {
    const urls = nodes.slice(0, count).map(({ url }) => url);
    reader = new JsonRpcChainReader(new ChainClient(2484, urls, LIMITS), { onFalseBloom: (what) => told.push(what) });
  };
  const lie = (answers: Record<string, unknown>) => {
    const [node] = nodes;
    if (!node) throw new Error('there is a node');
    node.lie = (method, truth) => {
      const answer = answers[method];
      if (answer instanceof Error) throw answer;
      return answer ?? truth;
    };
  };

  it.each([
    ['there is no transaction', empty],
    ['the transactions have other logs', other],
  ])('is believed no more where the receipts prove it: %s', async (_, block) => {
    expect(await reader.logsOfBlock(block, FILTER)).toEqual([]);
    expect([reader.usesBlooms, told]).toEqual([
      false,
      ['the bloom of a block announces logs that are not in its receipts'],
    ]);
    expect((await reader.head()).logsBloom).toBe(BLOOM_OF_EVERYTHING);
    expect(await reader.logsOfBlock(block, FILTER)).toEqual([]);
    expect(told).toHaveLength(1);
  });

  it('is believed no more where its block is read by the receipts', async () => {
    expect((await reader.receiptsOfBlock(other)).logs).toHaveLength(1);
    expect(reader.usesBlooms).toBe(false);
  });

  it('is believed where the receipts have the logs, and the setting is named that helps if it should not be', async () => {
    lie({ eth_getLogs: [] });
    await expect(reader.logsOfBlock(right, FILTER)).rejects.toThrow(/logs that the bloom announces .*"bloom": false/);
    expect((await reader.receiptsOfBlock(right)).logs).toHaveLength(2);
    expect(reader.usesBlooms).toBe(true);
  });

  it('is believed where there are no receipts, or these and the logs say different things', async () => {
    lie({ eth_getLogs: [], eth_getBlockReceipts: new RpcError('no'), eth_getTransactionReceipt: new RpcError('no') });
    await expect(reader.logsOfBlock(other, FILTER)).rejects.toThrow('logs that the bloom announces');
    lie({ eth_getLogs: [] });
    await expect(reader.logsOfBlock(other, FILTER)).rejects.toThrow('logs that the bloom announces');
    expect(reader.usesBlooms).toBe(true);
  });

  it('is believed where it accounts for a log without a transaction', async () => {
    const [ofTransaction] = chain.logs.filter(({ blockHash }) => blockHash === right.hash);
    if (!ofTransaction) throw new Error('there is a log');
    const transactions = [ofTransaction.txHash];
    lie({
      eth_getBlockByHash: { ...toWireHeader(right), transactions },
      eth_getBlockReceipts: [toWireReceipt([ofTransaction], ofTransaction.txHash)],
    });
    expect((await reader.receiptsOfBlock(right)).logs).toEqual([ofTransaction]);
    expect(reader.usesBlooms).toBe(true);
  });

  it('is believed where another endpoint has what one leaves out of its logs and receipts', async () => {
    reader.close();
    open(2);
    const receipts = chain.logs
      .filter(({ blockHash }) => blockHash === right.hash)
      .map(({ txHash, blockHash }) => ({ transactionHash: txHash, blockHash, logsBloom: BLOOM_OF_NOTHING, logs: [] }));
    lie({ eth_getLogs: [], eth_getBlockReceipts: receipts });
    expect(await reader.logsOfBlock(right, FILTER)).toHaveLength(1);
    expect(reader.usesBlooms).toBe(true);
  });
});
