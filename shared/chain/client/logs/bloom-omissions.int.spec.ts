import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JsonRpcNode } from '../../../testing/chain/json-rpc-node.ts';
import { BLOOM_OF_EVERYTHING, bloomOf } from '../../bloom.ts';
import { ChainClient } from '../chain-client.ts';
import { JsonRpcChainReader } from '../chain-reader.json-rpc.ts';
import { MemoryChain } from '../../../testing/chain/chain-reader.memory.ts';

const ADDRESS = `0x${'a1'.repeat(20)}`;
const OTHER = `0x${'b2'.repeat(20)}`;
const TOPIC = `0x${'01'.repeat(32)}`;
const FILTER = { addresses: [ADDRESS, OTHER], topics: [] };
const logOf = (address: string) => ({ address, topics: [TOPIC], data: '0x' });

describe('a bloom that allows logs of which none come', () => {
  it('promises them, unless it allows one of so many addresses by chance', async () => {
    const chain = new MemoryChain(2484);
    const header = chain.mine([logOf(ADDRESS)]);
    chain.mine([]);
    const busy = chain.mine(Array.from({ length: 20 }, () => logOf(`0x${'c3'.repeat(20)}`)));
    const node = await JsonRpcNode.start(chain);
    node.lie = (method, truth, [asked]) => (method === 'eth_getLogs' && 'address' in Object(asked) ? [] : truth);
    const reader = new JsonRpcChainReader(new ChainClient(2484, [node.url]));
    await reader.head();
    // From then on, it need not be checked whether short answers are whole.
    await reader.logsOfBlock(busy, { addresses: [], topics: [] });
    // The node proves that it accepts the hash of a block that is not its newest.
    expect(await reader.logsOfBlock(header, { addresses: [], topics: [] })).toHaveLength(1);
    const found = async (chosenFrom?: number) => {
      node.asked.length = 0;
      const { length } = await reader.logsOfBlock(header, FILTER, chosenFrom === undefined ? {} : { chosenFrom });
      return { logs: length, calls: node.asked.filter((method) => method === 'eth_getLogs').length };
    };
    for (const chosenFrom of [undefined, 1, 1_000]) expect(await found(chosenFrom)).toEqual({ logs: 1, calls: 2 });
    expect(await found(1_000_000_000)).toEqual({ logs: 0, calls: 1 });
    reader.close();
    await node.stop();
  });
});

describe('blooms that leave out logs', () => {
  const chain = new MemoryChain(2484);
  const usual = chain.mine([logOf(ADDRESS)]);
  const omitting = chain.mine([logOf(ADDRESS), logOf(OTHER)]);
  let node: JsonRpcNode;
  let reader: JsonRpcChainReader;
  let omissions = 0;
  beforeEach(async () => {
    node = await JsonRpcNode.start(chain);
    // As on Polygon, whose state syncs are in no bloom.
    const logsBloom = bloomOf([logOf(ADDRESS)]);
    node.lie = (method, truth) => (method.startsWith('eth_getBlockBy') ? { ...(truth as object), logsBloom } : truth);
    omissions = 0;
    reader = new JsonRpcChainReader(new ChainClient(2484, [node.url]), { onFalseBloom: () => (omissions += 1) });
  });
  afterEach(async () => {
    reader.close();
    await node.stop();
  });
  const headers = () => reader.headersByNumber([usual.number, omitting.number]);

  it('are used no more once a log is found that one leaves out, and that is said once', async () => {
    const [first, second] = await headers();
    if (!first || !second) throw new Error('the headers are missing');
    await reader.logsOfBlock(first, FILTER);
    expect(omissions).toBe(0);
    expect((await reader.head()).logsBloom).toBe(bloomOf([logOf(ADDRESS)]));
    expect(await reader.logsOfBlock(second, FILTER)).toHaveLength(2);
    await reader.logsOfBlock(second, FILTER);
    expect(omissions).toBe(1);
    const now = [await reader.head(), await reader.headerByHash(usual.hash), ...(await headers())];
    expect(now.map((header) => header?.logsBloom)).toEqual(Array.from({ length: 4 }, () => BLOOM_OF_EVERYTHING));
  });

  it('are used no more once logs that were found elsewhere are compared with one that leaves them out', async () => {
    const [first, second] = await headers();
    if (!first || !second) throw new Error('the headers are missing');
    const { logs } = await reader.crossCheckedLogs(usual.number, omitting.number, FILTER);
    const inBlock = ({ number }: { number: number }) => logs.filter(({ blockNumber }) => blockNumber === number);
    reader.compareWithBloom(first, inBlock(usual));
    expect([reader.usesBlooms, omissions]).toEqual([true, 0]);
    reader.compareWithBloom(second, inBlock(omitting));
    reader.compareWithBloom(second, inBlock(omitting));
    expect([reader.usesBlooms, omissions]).toEqual([false, 1]);
  });

  it('are not used where the settings say so', async () => {
    reader.close();
    reader = new JsonRpcChainReader(new ChainClient(2484, [node.url]), { bloom: false });
    expect((await headers()).map((header) => header?.logsBloom)).toEqual([BLOOM_OF_EVERYTHING, BLOOM_OF_EVERYTHING]);
    expect(await reader.logsOfBlock(usual, { addresses: [OTHER], topics: [] })).toEqual([]);
  });
});
