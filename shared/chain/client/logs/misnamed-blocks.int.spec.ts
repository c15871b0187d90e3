import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JsonRpcNode } from '../../../testing/chain/json-rpc-node.ts';
import { MemoryChain } from '../../../testing/chain/chain-reader.memory.ts';
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

  it('is found out later, too, and then compared in each block', async () => {
    mine(300);
    isMisnamed = (block) => block > 100;
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
