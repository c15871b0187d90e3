import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JsonRpcNode } from '../../testing/chain/json-rpc-node.ts';
import { silence, withProviders } from '../../testing/chain/simulated-providers.ts';
import { RpcError } from '../../testing/chain/wire-forms.ts';
import { MemoryChain } from '../../testing/chain/chain-reader.memory.ts';
import { ChainClient } from '../client/chain-client.ts';
import { ChainUnavailable } from '../chain-reader.ts';
import { LatestState } from './latest-state.ts';

const CHAIN_ID = 2484;
const GAS = 1_000_000;
const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const THREE = `0x${'3'.padStart(64, '0')}`;

describe('the newest state of a chain', () => {
  let wrong: JsonRpcNode;
  let right: JsonRpcNode;
  let chain: MemoryChain;
  beforeEach(async () => {
    chain = new MemoryChain(CHAIN_ID);
    [wrong, right] = await Promise.all([JsonRpcNode.start(chain), JsonRpcNode.start(chain)]);
    right.lie = (method, truth) => (method === 'eth_call' ? THREE : truth);
  });
  afterEach(() => Promise.all([wrong.stop(), right.stop()]));

  const clientOf = (...nodes: { url: string }[]) =>
    new ChainClient(
      CHAIN_ID,
      nodes.map(({ url }) => url),
    );
  const stateOf = (...nodes: JsonRpcNode[]) => new LatestState(clientOf(...nodes), 30_000);

  it('runs code: returns the word that it returned, and names the gas that it may use', async () => {
    let asked: readonly unknown[] = [];
    right.lie = (method, truth, params) => {
      if (method !== 'eth_call') return truth;
      asked = params;
      return THREE;
    };
    expect(await stateOf(right).run('0x6000', GAS)).toBe(3n);
    expect(asked).toEqual([{ data: '0x6000', gas: '0xf4240' }, 'latest']);
  });

  it.each<[string, () => unknown]>([
    [
      'refuses',
      () => {
        throw new RpcError('out of gas');
      },
    ],
    ['answers nothing', () => '0x'],
    ['answers null', () => null],
    ['answers more than a word', () => `${THREE}00`],
    ['answers what is not hex', () => `0x${'g'.repeat(64)}`],
    ['answers megabytes', () => `0x${'0'.repeat(4 * 1_024 * 1_024)}`],
  ])('asks the next endpoint where one %s', async (_, lie) => {
    wrong.lie = (method, truth) => (method === 'eth_call' ? lie() : truth);
    expect(await stateOf(wrong, right).run('0x', GAS)).toBe(3n);
    await expect(stateOf(wrong).run('0x', GAS)).rejects.toThrow(ChainUnavailable);
  });

  it('asks the next endpoint where one serves another chain or does not answer in time', async () => {
    wrong.lie = (method, truth) => (method === 'eth_chainId' ? '0x1' : truth);
    expect(await stateOf(wrong, right).run('0x', GAS)).toBe(3n);
    await withProviders(chain, async ({ first, second, time }) => {
      second.lie = right.lie;
      first.respond = silence;
      expect(await new LatestState(clientOf(first, second), 5_000).run('0x', GAS)).toBe(3n);
      expect([first.requests, time.elapsed()]).toEqual([1, 5_000]);
    });
  });

  it('calls a contract: returns what it returned, and asks the next endpoint where one answers no bytes', async () => {
    let asked: readonly unknown[] = [];
    right.lie = (method, truth, params) => {
      if (method !== 'eth_call') return truth;
      asked = params;
      return '0xbeef';
    };
    wrong.lie = (method, truth) => (method === 'eth_call' ? 'beef' : truth);
    expect(await stateOf(wrong, right).call(ADDRESS, '0x01')).toBe('0xbeef');
    expect(asked).toEqual([{ to: ADDRESS, data: '0x01' }, 'latest']);
    await expect(stateOf(wrong).call(ADDRESS, '0x01')).rejects.toThrow(ChainUnavailable);
  });

  it('tells what an address holds, and whether code is there', async () => {
    const state = { eth_getBalance: '0xde0b6b3a7640000', eth_getCode: '0x' };
    right.lie = (method, truth) => new Map(Object.entries(state)).get(method) ?? truth;
    expect(await stateOf(right).account(ADDRESS)).toEqual({ wei: 10n ** 18n, hasCode: false });
    state.eth_getCode = '0x6000';
    expect(await stateOf(right).account(ADDRESS)).toEqual({ wei: 10n ** 18n, hasCode: true });
  });

  it.each([
    ['eth_getBalance', 'a lot'],
    ['eth_getBalance', `0x${'f'.repeat(65)}`],
    ['eth_getCode', '0x0'],
    ['eth_getCode', null],
  ])('asks the next endpoint where one answers to %s: %s', async (asked, answer) => {
    const truths = (method: string, truth: unknown) =>
      method === 'eth_getBalance' ? '0x0' : method === 'eth_getCode' ? '0x' : truth;
    wrong.lie = (method, truth) => (method === asked ? answer : truths(method, truth));
    right.lie = truths;
    expect(await stateOf(wrong, right).account(ADDRESS)).toEqual({ wei: 0n, hasCode: false });
    await expect(stateOf(wrong).account(ADDRESS)).rejects.toThrow(ChainUnavailable);
  });

  it('ends when it is closed', async () => {
    wrong.respond = () => undefined;
    const client = clientOf(wrong);
    const running = new LatestState(client, 2_000).run('0x', GAS);
    client.close();
    await expect(running).rejects.toThrow(ChainUnavailable);
  });

  it('says which block is the newest', async () => {
    expect(await stateOf(right).headBlock()).toBe(0);
    wrong.lie = (method, truth) => (method === 'eth_getBlockByNumber' ? null : truth);
    expect(await stateOf(wrong, right).headBlock()).toBe(0);
    await expect(stateOf(wrong).headBlock()).rejects.toThrow(ChainUnavailable);
  });

  describe('a receipt', () => {
    const hash = (digit: string) => `0x${digit.repeat(64)}`;
    const place = { transactionHash: hash('a'), transactionIndex: '0x01', blockHash: hash('b'), blockNumber: '0x7' };
    const log = { ...place, address: ADDRESS.toLowerCase(), topics: [hash('C')], data: '0xAB', logIndex: '0x0' };
    const receipt = {
      ...{ ...place, from: ADDRESS.toLowerCase(), to: ADDRESS.toLowerCase(), contractAddress: null },
      ...{ cumulativeGasUsed: '0x1', gasUsed: '0x1', effectiveGasPrice: '0x1', status: '0x1', type: '0x2' },
      ...{ logsBloom: '0x00', logs: [log], blobGasUsed: '0x0' },
    };

    it('has addresses in EIP-55 form, bytes in lower case and quantities without leading zeros', async () => {
      right.receipts.set(hash('a'), receipt);
      const { blobGasUsed: _, ...known } = receipt;
      expect(await stateOf(right).receipt(hash('a'))).toEqual({
        ...known,
        ...{ from: ADDRESS, to: ADDRESS, transactionIndex: '0x1' },
        logs: [
          { ...log, address: ADDRESS, topics: [hash('c')], data: '0xab', transactionIndex: '0x1', removed: false },
        ],
      });
      expect(await stateOf(right).receipt(hash('d'))).toBeUndefined();
    });

    it.each<[string, object]>([
      ['of another transaction', { transactionHash: hash('e') }],
      ['with a log of another transaction', { logs: [{ ...log, transactionHash: hash('e') }] }],
      ['with a log of another block', { logs: [{ ...log, blockHash: hash('e') }] }],
      ['without a status', { status: undefined }],
    ])('is asked of the next endpoint where one gives a receipt %s', async (_, change) => {
      right.receipts.set(hash('a'), receipt);
      wrong.receipts.set(hash('a'), { ...receipt, ...change });
      expect(await stateOf(wrong, right).receipt(hash('a'))).toMatchObject({ blockHash: hash('b') });
      await expect(stateOf(wrong).receipt(hash('a'))).rejects.toThrow(ChainUnavailable);
    });
  });
});
