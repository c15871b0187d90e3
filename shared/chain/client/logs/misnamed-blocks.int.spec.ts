import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JsonRpcNode } from '../../../testing/chain/json-rpc-node.ts';
import { MemoryChain } from '../../../testing/chain/chain-reader.memory.ts';
import { BLOOM_OF_NOTHING } from '../../bloom.ts';
import { BlocksRefused, RangeTooLarge } from '../../chain-reader.ts';
import { ChainClient } from '../chain-client.ts';
import { JsonRpcChainReader } from '../chain-reader.json-rpc.ts';

type Json = Record<string, unknown>;

const CHAIN_ID = 2484;
const ADDRESS = `0x${'a1'.repeat(20)}`;
const FILTER = { addresses: [ADDRESS], topics: [] };
const LOG = { address: ADDRESS, topics: [], data: '0x' };
const OTHER_HASH = `0x${'5a'.repeat(32)}`;
const RECEIPTS = ['eth_getBlockReceipts', 'eth_getTransactionReceipt'];

describe('a node whose logs have other block hashes than its headers', () => {
  let chain: MemoryChain;
  let node: JsonRpcNode;
  let reader: JsonRpcChainReader;
  /** Whether a log has another hash. */
  let isMisnamed: (block: number, logIndex: number) => boolean;
  let isInReceipts: boolean;
  beforeEach(async () => {
    chain = new MemoryChain(CHAIN_ID);
    node = await JsonRpcNode.start(chain);
    reader = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [node.url], { quarantineMs: 1 }));
    isMisnamed = () => true;
    isInReceipts = false;
    const misnamed = (log: Json) =>
      isMisnamed(Number(log['blockNumber']), Number(log['logIndex'])) ? { ...log, blockHash: OTHER_HASH } : log;
    node.lie = (method, truth) => {
      if (method === 'eth_getLogs') return (truth as Json[]).map(misnamed);
      if (!isInReceipts || !RECEIPTS.includes(method)) return truth;
      const receipts = [truth].flat() as Json[];
      const changed = receipts.map((one) => misnamed({ ...one, logs: (one['logs'] as Json[]).map(misnamed) }));
      return Array.isArray(truth) ? changed : changed[0];
    };
  });
  afterEach(async () => {
    reader.close();
    await node.stop();
  });

  const mine = (blocks: number) => {
    for (let block = 0; block < blocks; block += 1) chain.mine([LOG, LOG, { ...LOG, address: `0x${'b2'.repeat(20)}` }]);
  };
  const expected = () => chain.logs.filter(({ address }) => address === ADDRESS);

  it.each<[string, typeof isMisnamed]>([
    ['of all blocks', () => true],
    ['of some blocks', (block) => block % 5 === 2],
    ['of the last block', (block) => block === 12],
    ['of one block', (block) => block === 7],
    ['of one log', (block, logIndex) => block === 7 && logIndex === 1],
  ])('is read by receipts where these are %s of a range', async (_, of) => {
    mine(12);
    isMisnamed = of;
    expect(await reader.logsOfRange(1, 12, FILTER)).toEqual(expected());
    expect((await reader.crossCheckedLogs(1, 12, FILTER)).logs).toEqual(expected());
  });

  it('is read by receipts where a block is asked for by its hash', async () => {
    mine(3);
    const [, , header] = chain.headers;
    if (!header) throw new Error('there is a block');
    const logs = await reader.logsOfBlock(header, FILTER);
    expect(logs).toEqual(expected().filter(({ blockNumber }) => blockNumber === 2));
  });

  it.each<[string, typeof isMisnamed]>([
    ['in each block', (block) => block > 100],
    ['in one log of each block', (block, logIndex) => block > 100 && logIndex === 1],
  ])('is found out later, too, %s', async (_, of) => {
    mine(300);
    isMisnamed = of;
    for (let from = 1; from <= 291; from += 10) {
      const ofRange = expected().filter(({ blockNumber }) => from <= blockNumber && blockNumber < from + 10);
      expect(await reader.logsOfRange(from, from + 9, FILTER)).toEqual(ofRange);
    }
  });

  it('is asked for fewer blocks, and refused block by block, where its receipts have these hashes too', async () => {
    mine(12);
    isInReceipts = true;
    isMisnamed = (block) => block === 7;
    const refusal: unknown = await reader.logsOfRange(1, 12, FILTER).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(RangeTooLarge);
    expect(refusal).toMatchObject({ suggested: { blocks: 6 } });
    expect(await reader.logsOfRange(1, 6, FILTER)).toHaveLength(12);
    await expect(reader.logsOfRange(7, 7, FILTER)).rejects.toThrow(BlocksRefused);
    await expect(reader.logsOfRange(7, 7, FILTER)).rejects.toThrow(
      'its logs of block 7 have another hash than the header; by receipts: a receipt is of another block',
    );
    expect(await reader.logsOfRange(8, 12, FILTER)).toHaveLength(10);
  });

  it('is refused from the first misnamed block on, where its receipts have these hashes too', async () => {
    mine(40);
    isInReceipts = true;
    const sizes: number[] = [];
    for (let to = 40; to > 1;) {
      const refusal: unknown = await reader.logsOfRange(1, to, FILTER).catch((error: unknown) => error);
      to = refusal instanceof RangeTooLarge ? (refusal.suggested?.blocks ?? 0) : 0;
      sizes.push(to);
    }
    expect(sizes).toEqual([1]);
    await expect(reader.logsOfRange(1, 1, FILTER)).rejects.toThrow(BlocksRefused);
  });

  it.each<[string, (receipt: Json) => Json]>([
    ['lack logs', (receipt) => ({ ...receipt, logs: [], logsBloom: BLOOM_OF_NOTHING })],
    [
      'lack a log without a transaction',
      ({ logs, ...receipt }) => ({ ...receipt, logs: (logs as Json[]).slice(1), logsBloom: null }),
    ],
  ])('is refused where its receipts %s', async (_, change) => {
    mine(3);
    const misname = node.lie;
    node.lie = (method, truth, params) =>
      RECEIPTS.includes(method) ? (truth as Json[]).map(change) : misname(method, truth, params);
    for (const block of [1, 2, 3])
      await expect(reader.logsOfRange(block, block, FILTER)).rejects.toThrow('the receipts lack a log');
    const [, header] = chain.headers;
    if (!header) throw new Error('there is a block');
    await expect(reader.logsOfBlock(header, FILTER)).rejects.toThrow('another hash than the header');
  });

  it('is read at last where it takes few requests, and has right hashes', async () => {
    mine(60);
    isMisnamed = () => false;
    const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_005, message: 'rate limit exceeded' } });
    node.respond = (response, honest) => {
      const answers: unknown = JSON.parse(honest);
      const isTooMuch = Array.isArray(answers) && answers.length > 5;
      response.writeHead(isTooMuch ? 429 : 200, { 'content-type': 'application/json' }).end(isTooMuch ? body : honest);
    };
    let read = 0;
    for (let from = 1, blocks = 60; from <= 60;) {
      const to = Math.min(60, from + blocks - 1);
      const found = await reader.logsOfRange(from, to, FILTER).catch((error: unknown) => error);
      if (Array.isArray(found)) {
        read += found.length;
        from = to + 1;
      } else blocks = found instanceof RangeTooLarge ? (found.suggested?.blocks ?? 0) : 0;
    }
    expect(read).toBe(expected().length);
  });

  it('has its receipts read for so many blocks of a range at most', async () => {
    mine(150);
    const refusal: unknown = await reader.logsOfRange(1, 150, FILTER).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ suggested: { blocks: 75 } });
    expect(node.asked.filter((method) => RECEIPTS.includes(method)).length).toBeLessThanOrEqual(1);
  });

  it('costs an honest node one header more for each answer', async () => {
    mine(400);
    isMisnamed = () => false;
    await reader.logsOfRange(1, 100, FILTER);
    node.asked.length = 0;
    for (let from = 101; from <= 400; from += 100) await reader.logsOfRange(from, from + 99, FILTER);
    // The last block of each range, and another one.
    expect(node.asked.filter((method) => method === 'eth_getBlockByNumber')).toHaveLength(6);
  });
});
