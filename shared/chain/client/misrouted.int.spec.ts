import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JsonRpcNode } from '../../testing/chain/json-rpc-node.ts';
import { hex, toWireHeader } from '../../testing/chain/wire-forms.ts';
import { ChainClient } from './chain-client.ts';
import { JsonRpcChainReader } from './chain-reader.json-rpc.ts';
import { MemoryChain } from '../../testing/chain/chain-reader.memory.ts';
import { PATIENT_LIMITS } from '../../testing/chain/patient-limits.ts';
import { ChainUnavailable, type BlockHeader } from '../chain-reader.ts';

const CHAIN_ID = 2484;
const OTHER_CHAIN_ID = 1;
const DEPTH = 3;

describe('a provider that is misrouted to another chain', () => {
  let chain: MemoryChain;
  let first: JsonRpcNode;
  let second: JsonRpcNode;
  let reader: JsonRpcChainReader;
  beforeEach(async () => {
    chain = new MemoryChain(CHAIN_ID);
    chain.finalizedDepth = DEPTH;
    for (let block = 0; block < 300; block += 1) chain.mine([]);
    first = await JsonRpcNode.start(chain);
    second = await JsonRpcNode.start(chain);
    reader = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [first.url, second.url], PATIENT_LIMITS));
  });
  afterEach(async () => {
    reader.close();
    await Promise.all([first.stop(), second.stop()]);
  });

  const elsewhere = (number: number): BlockHeader => ({ ...chain.tip, number, hash: `0x${'77'.repeat(32)}` });
  /** Answers requests for the head and the finalized block from another chain. @param headNumber of that chain */
  const misroute = (node: JsonRpcNode, headNumber: number, chainId = OTHER_CHAIN_ID) => {
    node.lie = (method, truth, [block]) => {
      if (method === 'eth_chainId') return hex(chainId);
      if (block === 'latest') return toWireHeader(elsewhere(headNumber));
      return block === 'finalized' ? toWireHeader(elsewhere(headNumber - DEPTH)) : truth;
    };
  };
  const routeRight = (node: JsonRpcNode) => {
    node.lie = (_method, truth) => truth;
  };
  const final = () => chain.headers[chain.tip.number - DEPTH];

  it.each([
    ['ahead', 20_000_000],
    ['behind', 10],
  ])('is set aside as soon as its head is far %s of what it was', async (_, headNumber) => {
    expect(await reader.headAndFinalized()).toEqual({ head: chain.tip, finalized: final() });
    misroute(first, headNumber);
    expect(await reader.head()).toEqual(chain.tip);
    expect(await reader.headAndFinalized()).toEqual({ head: chain.tip, finalized: final() });
    misroute(second, headNumber);
    await expect(reader.head()).rejects.toThrow(ChainUnavailable);
    await expect(reader.headAndFinalized()).rejects.toThrow('serves chain 0x1');
  });

  it('is asked for its chain again in the request for the head, and only where that is far from what it was', async () => {
    await reader.headAndFinalized();
    first.asked.length = first.requests = 0;
    for (let block = 0; block < 10; block += 1) {
      chain.mine([]);
      await reader.head();
    }
    expect(first.asked).not.toContain('eth_chainId');
    for (let block = 0; block < 5_000; block += 1) chain.mine([]);
    first.asked.length = first.requests = 0;
    expect(await reader.head()).toEqual(chain.tip);
    expect(first.asked).toEqual(['eth_getBlockByNumber', 'eth_chainId', 'eth_getBlockByNumber']);
    expect(first.requests).toBe(2);
  });

  it('is asked for its chain with the first head, too', async () => {
    let asked = 0;
    first.lie = (method, truth, [block]) => {
      if (block === 'latest') return toWireHeader(elsewhere(20_000_000));
      if (method === 'eth_chainId') asked += 1;
      return method === 'eth_chainId' && asked > 1 ? hex(OTHER_CHAIN_ID) : truth;
    };
    expect(await reader.head()).toEqual(chain.tip);
  });

  it('does not decide what is final for ever, though it names the right chain', async () => {
    await reader.headAndFinalized();
    for (const node of [first, second]) misroute(node, 20_000_000, CHAIN_ID);
    await reader.headAndFinalized();
    for (const node of [first, second]) routeRight(node);
    expect(await reader.headAndFinalized()).toEqual({ head: chain.tip, finalized: final() });
    chain.mine([]);
    expect(await reader.headAndFinalized()).toEqual({ head: chain.tip, finalized: final() });
  });

  it('does not make a chain one without finalized blocks', async () => {
    await reader.headAndFinalized();
    for (const node of [first, second]) misroute(node, 20_000_000, CHAIN_ID);
    await reader.headAndFinalized();
    for (const node of [first, second]) {
      node.lie = (_method, truth, [block]) => (block === 'finalized' ? null : truth);
    }
    await expect(reader.headAndFinalized()).rejects.toThrow(ChainUnavailable);
    routeRight(second);
    expect(await reader.headAndFinalized()).toEqual({ head: chain.tip, finalized: final() });
  });
});
