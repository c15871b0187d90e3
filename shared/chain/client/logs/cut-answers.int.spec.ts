import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JsonRpcNode } from '../../../testing/chain/json-rpc-node.ts';
import { RpcError } from '../../../testing/chain/wire-forms.ts';
import { ChainClient } from '../chain-client.ts';
import { JsonRpcChainReader } from '../chain-reader.json-rpc.ts';
import { MemoryChain } from '../../../testing/chain/chain-reader.memory.ts';
import { BlocksRefused, ChainUnavailable, RangeTooLarge } from '../../chain-reader.ts';

const CHAIN_ID = 2484;
const CAP = 100;
const address = (at: number) => `0x${at.toString(16).padStart(40, '0')}`;
const ADDRESS = address(0xa1);
const FILTER = { addresses: [ADDRESS], topics: [] };
const logs = (count: number, of = ADDRESS) =>
  Array.from({ length: count }, (_, at) => ({
    address: of,
    topics: [],
    data: `0x${at.toString(16).padStart(64, '0')}`,
  }));

describe('an endpoint that returns so many logs at most, without a word about the others', () => {
  let chain: MemoryChain;
  let node: JsonRpcNode;
  let reader: JsonRpcChainReader;
  /** How the node truncates an answer. */
  let cut: (all: unknown[]) => unknown[];
  /** Answers to other methods. */
  let instead: Partial<Record<string, () => unknown>>;
  beforeEach(async () => {
    chain = new MemoryChain(CHAIN_ID);
    node = await JsonRpcNode.start(chain);
    reader = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [node.url], { quarantineMs: 1 }));
    cut = (all) => all.slice(0, CAP);
    instead = {};
    node.lie = (method, truth) => {
      const lie = instead[method];
      if (lie) return lie();
      return method === 'eth_getLogs' ? cut(truth as unknown[]) : truth;
    };
  });
  afterEach(async () => {
    reader.close();
    await node.stop();
  });

  const mine = (...counts: number[]) => counts.map((count) => chain.mine(logs(count)));
  const refusalOf = async (from: number, to: number) => {
    const refusal: unknown = await reader.logsOfRange(from, to, FILTER).catch((error: unknown) => error);
    return refusal instanceof RangeTooLarge ? refusal.suggested : refusal;
  };
  const asked = (method: string) => node.asked.filter((one) => one === method).length;

  it.each([
    ['in the middle of a block', [30, 30, 30, 30, 30], 2],
    ['in the last block', [30, 30, 30, 30], 2],
    ['between two blocks', [50, 50, 50], 1],
    ['in the only block with logs', [0, 150, 0], 1],
    ['after the only block that it has logs of', [0, 100, 20], 1],
  ])('is asked for fewer blocks where it cuts %s', async (_, counts, blocks) => {
    mine(...counts);
    expect(await refusalOf(1, counts.length)).toEqual({ blocks, of: 'logs', logsMax: CAP });
  });

  it.each([1, 2, 5, 9])('is found out where it returns %i at most', async (most) => {
    cut = (all) => all.slice(0, most);
    const [header] = mine(most + 1, 0, 0, 0);
    expect(await refusalOf(1, 4)).toEqual({ blocks: 1, of: 'logs', logsMax: most });
    expect(await reader.logsOfRange(1, 1, FILTER)).toEqual(chain.logs);
    if (!header) throw new Error('there is a block');
    expect(await reader.logsOfBlock(header, FILTER)).toEqual(chain.logs);
  });

  it('is refused for blocks that it may cut, where it has no receipts that tell', async () => {
    cut = (all) => all.slice(0, 1);
    const headers = mine(1, 1, 2, 0);
    instead['eth_getBlockReceipts'] = instead['eth_getTransactionReceipt'] = () => {
      throw new RpcError('not available on your plan');
    };
    expect(await refusalOf(1, 4)).toMatchObject({ logsMax: 1 });
    expect(await refusalOf(3, 3)).toBeInstanceOf(BlocksRefused);
    const [, , two, none] = headers;
    if (!two || !none) throw new Error('there are blocks');
    await expect(reader.logsOfBlock(two, FILTER)).rejects.toThrow('it returns 1 logs at most');
    expect(await reader.logsOfBlock(none, FILTER)).toEqual([]);
  });

  it('is found out when it returns the newest logs, too', async () => {
    cut = (all) => all.slice(-CAP);
    mine(30, 30, 30, 30);
    expect(await refusalOf(1, 4)).toMatchObject({ logsMax: CAP });
  });

  it('is compared with the receipts where one block has as many logs, by its number, its hash, and once more', async () => {
    const [header] = mine(150);
    if (!header) throw new Error('there is a block');
    expect(await reader.logsOfBlock(header, FILTER)).toEqual(chain.logs);
    expect(await reader.logsOfRange(1, 1, FILTER)).toEqual(chain.logs);
    expect((await reader.crossCheckedLogs(1, 1, FILTER)).logs).toEqual(chain.logs);
  });

  it('is found out in each part of a filter that is asked for in parts', async () => {
    const others = Array.from({ length: 1_500 }, (_, at) => address(1_000 + at));
    const [first = '', last = ''] = [others[0], others.at(-1)];
    chain.mine(logs(120, first));
    chain.mine(logs(20, last));
    const many = { addresses: others, topics: [] };
    await expect(reader.logsOfRange(1, 2, many)).rejects.toThrow(RangeTooLarge);
    expect(await reader.logsOfRange(1, 1, many)).toHaveLength(120);
    const [, header] = chain.headers;
    if (!header) throw new Error('there is a block');
    expect(await reader.logsOfBlock(header, many)).toHaveLength(120);
  });

  it('is asked no more about answers of that length, once it was found out', async () => {
    mine(30, 30, 30, 30, 30, 30, 30, 30);
    await refusalOf(1, 8);
    const before = asked('eth_getLogs');
    expect(await refusalOf(2, 8)).toMatchObject({ logsMax: CAP });
    expect(asked('eth_getLogs')).toBe(before + 1);
  });

  it('is not believed where it gives less when it is asked again', async () => {
    mine(30, 30, 30, 30);
    let answers = 0;
    cut = (all) => ((answers += 1) === 1 ? all.slice(0, CAP) : []);
    await expect(reader.logsOfRange(1, 4, FILTER)).rejects.toThrow('logs that it gave before are missing');
    await expect(reader.logsOfRange(1, 4, FILTER)).resolves.toEqual([]);
  });

  it('is believed where it has no receipts, and asked again where it fails to give them', async () => {
    const [header] = mine(150);
    if (!header) throw new Error('there is a block');
    instead['eth_getBlockReceipts'] = instead['eth_getTransactionReceipt'] = () => {
      throw new RpcError('the method does not exist/is not available', { code: -32_601 });
    };
    expect(await reader.logsOfBlock(header, FILTER)).toHaveLength(CAP);
    instead['eth_getBlockReceipts'] = instead['eth_getTransactionReceipt'] = () => {
      throw new RpcError('Internal error');
    };
    expect(await reader.logsOfBlock(header, FILTER)).toHaveLength(CAP);
    await expect(reader.logsOfBlock(header, FILTER, { isAgain: true })).rejects.toThrow(ChainUnavailable);
  });
});

describe('an honest endpoint', () => {
  it('is asked a few questions more, however often', async () => {
    const chain = new MemoryChain(CHAIN_ID);
    const node = await JsonRpcNode.start(chain);
    const reader = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [node.url]));
    const counts = Array.from({ length: 100 }, (_, block) => 12 + ((block * 37) % 60));
    for (const count of counts) chain.mine(logs(count));
    for (let block = 1; block <= 100; block += 1) await reader.logsOfRange(block, block, FILTER);
    for (const header of chain.headers.slice(1)) await reader.logsOfBlock(header, FILTER);
    const more = node.asked.filter((method) => method === 'eth_getBlockReceipts').length;
    expect(more).toBeGreaterThan(0);
    expect(more).toBeLessThan(60);
    // Blocks with logs like clockwork.
    for (let block = 101; block <= 200; block += 1) chain.mine(logs(80));
    node.asked.length = 0;
    for (let block = 101; block <= 200; block += 1) await reader.logsOfRange(block, block, FILTER);
    expect(node.asked.filter((method) => method === 'eth_getBlockReceipts').length).toBeLessThanOrEqual(7);
    reader.close();
    await node.stop();
  });
});
