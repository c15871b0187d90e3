import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JsonRpcNode } from '../../../testing/chain/json-rpc-node.ts';
import { hex, RpcError, toWireLog } from '../../../testing/chain/wire-forms.ts';
import { BLOOM_OF_EVERYTHING, BLOOM_OF_NOTHING } from '../../bloom.ts';
import { ChainClient } from '../chain-client.ts';
import { JsonRpcChainReader } from '../chain-reader.json-rpc.ts';
import { MemoryChain } from '../../../testing/chain/chain-reader.memory.ts';
import type { BlockHeader } from '../../chain-reader.ts';

const ADDRESS = `0x${'a1'.repeat(20)}`;
const FILTER = { addresses: [ADDRESS], topics: [] };
const ANY = { addresses: [], topics: [] };
const logOf = (data: number) => ({ address: ADDRESS, topics: [], data: `0x${String(data).padStart(64, '0')}` });

describe('a node that is asked for the logs of a block by its hash', () => {
  let chain: MemoryChain;
  let block: BlockHeader;
  let node: JsonRpcNode;
  let reader: JsonRpcChainReader;
  beforeEach(async () => {
    chain = new MemoryChain(2484);
    const busy = chain.mine(Array.from({ length: 20 }, () => ({ ...logOf(0), address: `0x${'c3'.repeat(20)}` })));
    block = chain.mine([logOf(1), logOf(2)]);
    chain.mine([logOf(3)]);
    node = await JsonRpcNode.start(chain);
    reader = new JsonRpcChainReader(new ChainClient(2484, [node.url], { quarantineMs: 1 }));
    // From then on, it need not be checked whether short answers are whole.
    await reader.logsOfRange(busy.number, busy.number, ANY);
  });
  afterEach(async () => {
    reader.close();
    await node.stop();
  });

  /** What the node does when it gets a block hash. */
  const given = (instead: () => unknown) => {
    node.lie = (method, truth, [filter]) =>
      method === 'eth_getLogs' && 'blockHash' in Object(filter) ? instead() : truth;
  };
  const refusing = (message: string, code = -32_602) =>
    given(() => {
      throw new RpcError(message, { code });
    });
  const dataOf = async () => (await reader.logsOfBlock(block, FILTER)).map(({ data }) => Number(data));
  const askedForLogs = () => node.asked.filter((method) => method === 'eth_getLogs').length;

  it.each(['unsupported filter: blockHash', 'invalid params: missing fromBlock', 'invalid argument 0: unknown field'])(
    'is asked by its number where it refuses the hash, from then on: %s',
    async (message) => {
      refusing(message);
      expect(await dataOf()).toEqual([1, 2]);
      const before = askedForLogs();
      expect(await dataOf()).toEqual([1, 2]);
      expect(askedForLogs()).toBe(before + 1);
    },
  );

  it('is asked by its number where it answers with other blocks', async () => {
    given(() => chain.logs.slice(-1).map(toWireLog));
    expect(await dataOf()).toEqual([1, 2]);
    const before = askedForLogs();
    expect(await dataOf()).toEqual([1, 2]);
    expect(askedForLogs()).toBe(before + 1);
  });

  it('is asked by its number where it answers with a block without logs, and the bloom announces some', async () => {
    given(() => []);
    expect(await dataOf()).toEqual([1, 2]);
    const before = askedForLogs();
    expect(await dataOf()).toEqual([1, 2]);
    expect(askedForLogs()).toBe(before + 1);
  });

  it('is asked by its number where it answers with a block without logs, and no bloom is known', async () => {
    given(() => []);
    block = { ...block, logsBloom: BLOOM_OF_EVERYTHING };
    expect(await dataOf()).toEqual([1, 2]);
    chain.rollBack(2);
    chain.mine([]);
    await expect(dataOf()).rejects.toThrow('it has another block of that number');
  });

  it('is not asked by its number any more once it has given logs by a hash that is not that of its newest block', async () => {
    const none = { addresses: [`0x${'b2'.repeat(20)}`], topics: [] };
    const newest = chain.tip;
    const asks = async (of: BlockHeader, filter = none) => {
      const before = askedForLogs();
      await reader.logsOfBlock({ ...of, logsBloom: BLOOM_OF_EVERYTHING }, filter);
      return askedForLogs() - before;
    };
    await reader.head();
    expect(await asks(newest, FILTER)).toBe(1);
    expect(await asks(newest)).toBe(2);
    expect(await asks(block, FILTER)).toBe(1);
    expect(await asks(newest)).toBe(1);
  });

  it('is asked by its hash again where it failed for a moment', async () => {
    refusing('Internal error', -32_603);
    expect(await dataOf()).toEqual([1, 2]);
    given(() => chain.logs.filter(({ blockNumber }) => blockNumber === block.number).map(toWireLog));
    const before = askedForLogs();
    expect(await dataOf()).toEqual([1, 2]);
    expect(askedForLogs()).toBe(before + 1);
  });

  it('has not shown that it takes hashes where its logs came by number', async () => {
    await reader.head();
    refusing('Internal error', -32_603);
    expect(await dataOf()).toEqual([1, 2]);
    given(() => []);
    block = { ...block, logsBloom: BLOOM_OF_EVERYTHING };
    expect(await dataOf()).toEqual([1, 2]);
  });

  it('has to show it again after it failed, since another node may answer at its address', async () => {
    await reader.head();
    expect(await dataOf()).toEqual([1, 2]);
    node.lie = () => {
      throw new RpcError('Internal error', { code: -32_603 });
    };
    await expect(dataOf()).rejects.toThrow('Internal error');
    given(() => []);
    block = { ...block, logsBloom: BLOOM_OF_EVERYTHING };
    expect(await dataOf()).toEqual([1, 2]);
  });

  it('gives none by its number once another block has that number', async () => {
    refusing('unsupported filter: blockHash');
    expect(await dataOf()).toEqual([1, 2]);
    chain.rollBack(2);
    chain.mine([]);
    chain.mine([]);
    await expect(dataOf()).rejects.toThrow('it has another block of that number');
  });

  it('has headers without blooms, and its logs are read', async () => {
    node.lie = (method, truth) => {
      if (!method.startsWith('eth_getBlockBy')) return truth;
      const { logsBloom: _, ...header } = truth as { logsBloom: string };
      return header;
    };
    const [header] = await reader.headersByNumber([block.number]);
    expect(header && (await reader.logsOfBlock(header, FILTER))).toHaveLength(2);
    expect((await reader.head()).number).toBe(3);
  });

  it('has empty blooms of blocks that used gas, whose logs are read all the same', async () => {
    const withBloom = (gasUsed: string) => {
      node.lie = (method, truth) =>
        method.startsWith('eth_getBlockBy') ? { ...(truth as object), logsBloom: BLOOM_OF_NOTHING, gasUsed } : truth;
    };
    withBloom('0x5208');
    expect((await reader.head()).logsBloom).toBe(BLOOM_OF_EVERYTHING);
    const [header] = await reader.headersByNumber([block.number]);
    if (!header) throw new Error('there is a block');
    const before = askedForLogs();
    expect(await reader.logsOfBlock(header, FILTER)).toHaveLength(2);
    expect(await reader.logsOfBlock(header, { addresses: [`0x${'b2'.repeat(20)}`], topics: [] })).toEqual([]);
    expect(askedForLogs()).toBe(before + 2);
    withBloom('0x0');
    expect((await reader.head()).logsBloom).toBe(BLOOM_OF_NOTHING);
  });

  it('has forms of its own, and its answers are read', async () => {
    node.lie = (method, truth) => {
      if (method === 'eth_getCode') return '0x0';
      if (method !== 'eth_getLogs') return truth;
      const logs = (truth as Record<string, unknown>[]).map((log) => ({
        ...log,
        blockNumber: Number(log['blockNumber']),
      }));
      return [...logs, ...logs];
    };
    node.respond = (response, honest) => response.end(honest.replaceAll(/"id":(\d+)/g, '"id":"$1"'));
    expect(await dataOf()).toEqual([1, 2]);
    expect(await reader.logsOfRange(1, 3, FILTER)).toEqual(chain.logs.filter(({ address }) => address === ADDRESS));
    expect(await reader.hasCode(ADDRESS)).toBe(false);
  });

  it('gives times that are not those of its blocks', async () => {
    const timesOf = async (blockTimestamp: unknown) => {
      node.lie = (method, truth) =>
        method === 'eth_getLogs' ? (truth as object[]).map((log) => ({ ...log, blockTimestamp })) : truth;
      const times = (await reader.logsOfRange(1, 3, FILTER)).map((log) => log.blockTimestamp);
      const ofBlock = await reader.logsOfBlock(block, FILTER);
      expect(ofBlock.map((log) => log.blockTimestamp)).toEqual(ofBlock.map(() => block.timestamp));
      return times;
    };
    const [first, , last] = chain.logs.slice(20).map(({ blockTimestamp }) => blockTimestamp ?? 0);
    if (first === undefined || last === undefined) throw new Error('there are logs');
    for (const wrong of ['0x0', 0, 'noon', null, undefined, hex(last + 1)])
      expect(await timesOf(wrong)).toEqual([undefined, undefined, last]);
    for (const plain of [first, hex(first)]) expect(await timesOf(plain)).toEqual([first, first, last]);
  });
});
