import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Anvil } from '../../testing/chain/anvil.ts';
import { eventually } from '../../testing/eventually.ts';
import { JsonRpcNode } from '../../testing/chain/json-rpc-node.ts';
import { withProviders } from '../../testing/chain/simulated-providers.ts';
import { RpcError, toWireHeader } from '../../testing/chain/wire-forms.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { ChainClient } from './chain-client.ts';
import { JsonRpcChainReader } from './chain-reader.json-rpc.ts';
import { MemoryChain } from '../../testing/chain/chain-reader.memory.ts';
import { PATIENT_LIMITS } from '../../testing/chain/patient-limits.ts';
import { ChainUnavailable, FinalizedContradicted } from '../chain-reader.ts';
import { LOCAL_FINAL_DEPTH } from '../../local-chain/local-chain-process.ts';

const CHAIN_ID = 2484;
const DEPTH = 3;

describe('the finalized block', () => {
  let chain: MemoryChain;
  let first: JsonRpcNode;
  let second: JsonRpcNode;
  let reader: JsonRpcChainReader;
  beforeEach(async () => {
    chain = new MemoryChain(CHAIN_ID);
    chain.finalizedDepth = DEPTH;
    for (let block = 0; block < 10; block += 1) chain.mine([]);
    first = await JsonRpcNode.start(chain);
    second = await JsonRpcNode.start(chain);
    reader = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [first.url, second.url], PATIENT_LIMITS));
  });
  afterEach(async () => {
    reader.close();
    await Promise.all([first.stop(), second.stop()]);
  });

  const finalized = async () => (await reader.headAndFinalized()).finalized;
  /** Changes the node's answers about the finalized block. */
  const says = (node: Pick<JsonRpcNode, 'lie'>, change: (truth: unknown) => unknown) => {
    node.lie = (method, truth, [block]) =>
      method === 'eth_getBlockByNumber' && block === 'finalized' ? change(truth) : truth;
  };
  const refuses = (node: Pick<JsonRpcNode, 'lie'>, message: string, code = -32_000) => {
    says(node, () => {
      throw new RpcError(message, { code });
    });
  };

  it('is the header that the chain gives by that name', async () => {
    expect(await finalized()).toEqual(chain.headers[10 - DEPTH]);
    chain.mine([]);
    expect(await finalized()).toEqual(chain.headers[11 - DEPTH]);
  });

  it.each([
    'finalized block not found',
    'unknown variant `finalized`',
    'invalid argument 0: hex string without 0x prefix',
    "'finalized' tag not supported on pre-merge network",
    'Invalid params: unknown block number',
    'Invalid block number: invalid digit found in string',
    'invalid blocknumber finalized',
    'TAG finalized not supported',
    'Cannot wrap string value "finalized" as a json-rpc type; strings must be prefixed with "0x".',
  ])('is undefined on a chain that has none: %s', async (message) => {
    for (const node of [first, second]) refuses(node, message);
    expect(await finalized()).toBeUndefined();
    says(first, () => null);
    says(second, () => null);
    expect(await finalized()).toBeUndefined();
  });

  it.each([
    [-32_602, 'something is wrong with the second one'],
    [-32_001, 'no such thing'],
    [-39_001, 'no such thing'],
  ])('is undefined where the code says so: %i', async (code, message) => {
    for (const node of [first, second]) refuses(node, message, code);
    expect(await finalized()).toBeUndefined();
  });

  it.each([
    'internal error',
    'upstream connect error',
    'execution aborted (timeout = 5s)',
    'block service is unavailable',
  ])('is not missing where a provider fails: %s', async (message) => {
    refuses(first, message, -32_603);
    expect(await finalized()).toEqual(chain.headers[10 - DEPTH]);
    refuses(second, message, -32_603);
    await expect(finalized()).rejects.toThrow(ChainUnavailable);
    says(second, (truth) => truth);
    expect(await finalized()).toEqual(chain.headers[10 - DEPTH]);
  });

  it('is missing where a provider says again and again what nobody knows, so that its chain is followed', async () => {
    for (const node of [first, second]) refuses(node, 'gibberish');
    const isMissing = async () => {
      const found = await finalized().catch((error: unknown) => {
        if (error instanceof ChainUnavailable) return null;
        throw error;
      });
      return found === undefined;
    };
    await expect(finalized()).rejects.toThrow(ChainUnavailable);
    await eventually(isMissing, 15_000, 'the chain must be one without a finalized block');
  });

  it('is asked of another provider where one cannot answer now', () =>
    withProviders(chain, async (simulated) => {
      const urls = [simulated.first.url, simulated.second.url];
      const waiting = new JsonRpcChainReader(new ChainClient(CHAIN_ID, urls, PATIENT_LIMITS));
      refuses(simulated.first, 'project ID request rate exceeded', -32_005);
      expect((await waiting.headAndFinalized()).finalized).toEqual(chain.headers[10 - DEPTH]);
      refuses(simulated.second, 'project ID request rate exceeded', -32_005);
      await expect(waiting.headAndFinalized()).rejects.toThrow(ChainUnavailable);
      waiting.close();
    }));

  it('is never newer than the head of the same provider', async () => {
    says(first, (truth) => ({ ...(truth as object), number: '0x63' }));
    expect(await finalized()).toEqual(chain.headers[10 - DEPTH]);
    says(second, (truth) => ({ ...(truth as object), number: '0x63' }));
    await expect(finalized()).rejects.toThrow('newer than the head');
  });

  it.each([1, 3])('is the head where that is %i blocks older than what the chain calls final', async (ahead) => {
    for (const node of [first, second])
      node.lie = (method, truth, [block]) => {
        if (method !== 'eth_getBlockByNumber') return truth;
        if (block === 'latest') return toWireHeader(chain.headers[10 - ahead] ?? chain.tip);
        return block === 'finalized' ? toWireHeader(chain.tip) : truth;
      };
    expect(await reader.headAndFinalized()).toEqual({
      head: chain.headers[10 - ahead],
      finalized: chain.headers[10 - ahead],
    });
  });

  it('is not the head of another branch, however near', async () => {
    for (const node of [first, second])
      says(node, () => ({ ...toWireHeader(chain.tip), number: '0xb', parentHash: `0x${'77'.repeat(32)}` }));
    await expect(finalized()).rejects.toThrow('newer than the head');
  });

  it('is asked for again, of all, before the chain is one that has none', async () => {
    let refused = 0;
    says(first, (truth) => ((refused += 1) === 1 ? null : truth));
    refuses(second, 'finalized block not found');
    expect(await finalized()).toEqual(chain.headers[10 - DEPTH]);
  });

  it('never goes back, whatever a provider says that lags or forgets', async () => {
    const known = await finalized();
    for (const node of [first, second]) {
      says(node, (truth) => ({ ...(truth as object), number: '0x2', hash: chain.headers[2]?.hash }));
    }
    expect(await finalized()).toEqual(known);
    for (const node of [first, second]) refuses(node, 'finalized block not found');
    expect(await finalized()).toEqual(known);
  });

  it('goes on where the provider that answers first has none any more, and another one has', async () => {
    await finalized();
    refuses(first, 'finalized block not found');
    says(second, (truth) => truth);
    chain.mine([]);
    expect(await finalized()).toEqual(chain.headers[11 - DEPTH]);
    says(first, () => null);
    chain.mine([]);
    expect(await finalized()).toEqual(chain.headers[12 - DEPTH]);
  });

  it('is not another block of the same number', async () => {
    await finalized();
    for (const node of [first, second]) says(node, (truth) => ({ ...(truth as object), hash: `0x${'77'.repeat(32)}` }));
    await expect(finalized()).rejects.toThrow('differs from the one before');
    await expect(finalized()).rejects.toBeInstanceOf(FinalizedContradicted);
    says(second, (truth) => truth);
    expect(await finalized()).toEqual(chain.headers[10 - DEPTH]);
  });
});

describe('the finalized block of anvil', () => {
  const folder = temporaryFolder();

  it('is one of its chain, as deep as it is started with', async () => {
    const anvil = await Anvil.start(folder);
    const reader = new JsonRpcChainReader(new ChainClient(Anvil.chainId, [anvil.rpcUrl]));
    await anvil.call('anvil_mine', '0x50');
    const { head, finalized } = await reader.headAndFinalized();
    expect(head).toEqual(await reader.head());
    expect(finalized?.number).toBe(head.number - LOCAL_FINAL_DEPTH);
    expect((await reader.headersByNumber([head.number - LOCAL_FINAL_DEPTH]))[0]).toEqual(finalized);
    reader.close();
    await anvil.stop();
  });
});
