import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Anvil } from '../../../testing/chain/anvil.ts';
import { JsonRpcNode } from '../../../testing/chain/json-rpc-node.ts';
import { silence, withProviders } from '../../../testing/chain/simulated-providers.ts';
import { RpcError } from '../../../testing/chain/wire-forms.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { BLOOM_OF_NOTHING } from '../../bloom.ts';
import { ChainClient } from '../chain-client.ts';
import { JsonRpcChainReader } from '../chain-reader.json-rpc.ts';
import { MemoryChain } from '../../../testing/chain/chain-reader.memory.ts';
import { ChainUnavailable, type BlockHeader } from '../../chain-reader.ts';
import { checkReceipts, checkTransactions } from '../answers/checked-block-receipts.ts';

const CHAIN_ID = 2484;
const ADDRESS = `0x${'a1'.repeat(20)}`;
const TOPIC = `0x${'01'.repeat(32)}`;
const FILTER = { addresses: [ADDRESS], topics: [TOPIC] };
const ANY = { addresses: [], topics: [] };
const LIMITS = { withinMs: 30_000, quarantineMs: 1_000 };
const aLog = (data: number, address = ADDRESS) => ({
  address,
  topics: [TOPIC],
  data: `0x${data.toString(16).padStart(64, '0')}`,
});

type Json = Record<string, unknown>;

describe('a block whose logs are too much for the provider', () => {
  const chain = new MemoryChain(CHAIN_ID);
  const header = chain.mine(
    Array.from({ length: 150 }, (_, at) => aLog(at, at % 3 === 0 ? `0x${'b2'.repeat(20)}` : ADDRESS)),
  );
  const passing = chain.logs.filter(({ address }) => address === ADDRESS);
  let node: JsonRpcNode;
  let reader: JsonRpcChainReader;
  beforeEach(async () => {
    node = await JsonRpcNode.start(chain);
    reader = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [node.url], LIMITS));
    lie({});
  });
  afterEach(async () => {
    reader.close();
    await node.stop();
  });

  /** The node refuses logs, and changes its answers to these methods. */
  const lie = (changes: Record<string, (truth: never) => unknown>) => {
    node.lie = (method, truth) => {
      if (method === 'eth_getLogs') throw new RpcError('query returned more than 100 results', { code: -32_005 });
      return changes[method]?.(truth as never) ?? truth;
    };
  };
  const missing = (method: string) => () => {
    throw new RpcError(`the method ${method} does not exist/is not available`, { code: -32_601 });
  };
  const changed = (at: number, change: (receipt: Json) => Json) => (receipts: Json[]) =>
    receipts.with(at, change(receipts[at] ?? {}));

  it('is read from its receipts, by its hash and as a range', async () => {
    expect(await reader.logsOfBlock(header, FILTER)).toEqual(passing);
    expect(node.asked.filter((method) => method === 'eth_getBlockReceipts')).toHaveLength(1);
    expect(await reader.logsOfRange(1, 1, FILTER)).toEqual(passing);
    expect(await reader.logsOfBlock(header, ANY)).toEqual(chain.logs);
  });

  it('is read from its receipts one by one where the provider has no other way', async () => {
    lie({ eth_getBlockReceipts: missing('eth_getBlockReceipts') });
    expect(await reader.logsOfBlock(header, FILTER)).toEqual(passing);
    expect(node.asked.filter((method) => method === 'eth_getTransactionReceipt')).toHaveLength(150);
    lie({ eth_getBlockReceipts: () => ({ then: 'not a list' }) });
    await expect(reader.logsOfBlock(header, FILTER)).rejects.toThrow('the receipts are not valid');
  });

  it('is read from its receipts also if its bloom announces logs of others, which nobody can compare with all of its logs', async () => {
    const overstated = { ...header, logsBloom: `0x${header.logsBloom.slice(2).replaceAll('0', '1')}` };
    expect(await reader.logsOfBlock(overstated, FILTER)).toEqual(passing);
    expect(reader.usesBlooms).toBe(false);
  });

  it('is read from its receipts where the provider is too slow for its logs', () =>
    withProviders(chain, async ({ first }) => {
      first.respond = (honest) => (honest.includes('"result":[{"address"') ? silence() : new Response(honest));
      const waiting = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [first.url], LIMITS));
      expect(await waiting.logsOfBlock(header, FILTER)).toEqual(passing);
      expect(first.asked).toContain('eth_getBlockReceipts');
      waiting.close();
    }));

  const lies: Record<string, Parameters<typeof lie>[0]> = {
    'a receipt is missing': { eth_getBlockReceipts: (receipts: Json[]) => receipts.slice(1) },
    'two receipts are of one transaction': {
      eth_getBlockReceipts: (receipts: Json[]) => [...receipts, receipts[0]],
    },
    'a receipt is of another block': {
      eth_getBlockReceipts: changed(3, (receipt) => ({ ...receipt, blockHash: `0x${'77'.repeat(32)}` })),
    },
    'the logs of a receipt are not those of its bloom': {
      eth_getBlockReceipts: changed(3, (receipt) => ({ ...receipt, logs: [] })),
    },
    'a log is of another transaction': {
      eth_getBlockReceipts: (receipts: Json[]) => receipts.with(3, { ...receipts[3], logs: receipts[4]?.['logs'] }),
    },
    'two logs have the same index': {
      eth_getBlockReceipts: changed(3, (receipt) => ({
        ...receipt,
        logs: (receipt['logs'] as Json[]).map((log) => ({ ...log, logIndex: '0x0' })),
      })),
    },
    'a log is marked as removed': {
      eth_getBlockReceipts: changed(3, (receipt) => ({
        ...receipt,
        logs: (receipt['logs'] as Json[]).map((log) => ({ ...log, removed: true })),
      })),
    },
    'logs that the bloom announces are missing': {
      eth_getBlockReceipts: (receipts: Json[]) =>
        receipts.map((receipt) => ({ ...receipt, logs: [], logsBloom: BLOOM_OF_NOTHING })),
    },
    'the answer is another block': {
      eth_getBlockByHash: (block: Json) => ({ ...block, hash: `0x${'77'.repeat(32)}` }),
    },
    'the block is not valid': { eth_getBlockByHash: () => ({ hash: header.hash }) },
  };
  it.each(Object.entries(lies))('is not believed when %s', async (message, changes) => {
    lie(changes);
    await expect(reader.logsOfBlock(header, FILTER)).rejects.toThrow(message);
    await expect(reader.logsOfBlock(header, FILTER)).rejects.toThrow(ChainUnavailable);
  });

  it('may have receipts of what the chain itself did, and no blooms', async () => {
    lie({
      eth_getBlockByHash: (block: Json) => ({
        ...block,
        transactions: (block['transactions'] as string[]).slice(0, -1),
      }),
      eth_getBlockReceipts: (receipts: Json[]) =>
        receipts.map((receipt) => ({ ...receipt, logsBloom: BLOOM_OF_NOTHING })),
    });
    expect(await reader.logsOfBlock(header, FILTER)).toEqual(passing);
  });
});

describe('the receipts of a block of anvil', () => {
  const folder = temporaryFolder();

  it('have the logs that anvil answers for it', async () => {
    const anvil = await Anvil.start(folder);
    const reader = new JsonRpcChainReader(new ChainClient(Anvil.chainId, [anvil.rpcUrl]));
    await anvil.mine([aLog(1), aLog(2, `0x${'b2'.repeat(20)}`), { ...aLog(3), topics: [] }]);
    const block: BlockHeader = await reader.head();
    const transactions = checkTransactions(await anvil.call('eth_getBlockByHash', block.hash, false), block);
    const receipts = await anvil.call('eth_getBlockReceipts', block.hash);
    expect(transactions).toHaveLength(3);
    expect(checkReceipts(receipts, transactions, block).logs).toEqual(await reader.logsOfBlock(block, ANY));
    reader.close();
    await anvil.stop();
  });
});
