import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JsonRpcNode } from '../../../testing/chain/json-rpc-node.ts';
import { RpcError } from '../../../testing/chain/wire-forms.ts';
import { ChainClient } from '../chain-client.ts';
import { JsonRpcChainReader } from '../chain-reader.json-rpc.ts';
import { MemoryChain } from '../../../testing/chain/chain-reader.memory.ts';
import { PATIENT_LIMITS } from '../../../testing/chain/patient-limits.ts';
import { RangeTooLarge } from '../../chain-reader.ts';

const CHAIN_ID = 2484;
const ANY = { addresses: [], topics: [] };

describe('how many blocks a provider takes', () => {
  const chain = new MemoryChain(CHAIN_ID);
  for (let block = 0; block < 1_000; block += 1) chain.mine([]);
  let small: JsonRpcNode;
  let large: JsonRpcNode;
  let reader: JsonRpcChainReader;
  beforeEach(async () => {
    small = await JsonRpcNode.start(chain);
    large = await JsonRpcNode.start(chain);
    reader = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [small.url, large.url], PATIENT_LIMITS));
  });
  afterEach(async () => {
    reader.close();
    await Promise.all([small.stop(), large.stop()]);
  });

  const bounded = (node: JsonRpcNode, most: number, says: (most: number) => string) => {
    node.lie = (method, truth, [asked]) => {
      const { fromBlock, toBlock } = Object(asked) as { fromBlock?: string; toBlock?: string };
      if (method !== 'eth_getLogs' || Number(toBlock) - Number(fromBlock) < most) return truth;
      throw new RpcError(says(most));
    };
  };
  const logRequests = (node: JsonRpcNode) => node.asked.filter((method) => method === 'eth_getLogs').length;
  const refusal = (blocks: number) => reader.logsOfRange(1, blocks, ANY).catch((error: unknown) => error);

  it('is remembered: it is asked for more no second time, and another that takes more is', async () => {
    bounded(small, 10, (most) => `eth_getLogs is limited to a ${String(most)} range`);
    for (let times = 0; times < 5; times += 1) expect(await reader.logsOfRange(1, 500, ANY)).toEqual([]);
    expect(logRequests(small)).toBe(1);
    expect(logRequests(large)).toBe(5);
  });

  it('is told at once, without a request, when every provider takes less; the one that takes most is named', async () => {
    bounded(small, 10, (most) => `eth_getLogs is limited to a ${String(most)} range`);
    bounded(large, 100, (most) => `exceed maximum block range: ${String(most)}`);
    expect(await refusal(500)).toMatchObject({ suggested: { blocks: 100 } });
    const asked = logRequests(small) + logRequests(large);
    expect(await refusal(400)).toBeInstanceOf(RangeTooLarge);
    expect(await refusal(300)).toMatchObject({ suggested: { blocks: 100 } });
    expect(logRequests(small) + logRequests(large)).toBe(asked);
    expect(await reader.logsOfRange(1, 100, ANY)).toEqual([]);
  });

  it('is halved where the provider says nothing, and tried upwards again', async () => {
    bounded(small, 100, () => 'block range is too wide');
    bounded(large, 100, () => 'block range is too wide');
    let blocks = 900;
    const seen: number[] = [];
    for (let times = 0; times < 150; times += 1) {
      const answer = await reader.logsOfRange(1, blocks, ANY).catch((error: unknown) => error);
      if (answer instanceof RangeTooLarge) blocks = answer.suggested?.blocks ?? 1;
      else {
        seen.push(blocks);
        blocks = Math.min(900, blocks + 1);
      }
    }
    expect(Math.min(...seen)).toBeGreaterThanOrEqual(50);
    expect(Math.max(...seen)).toBeGreaterThan(85);
  });

  it('is not lowered by a filter that has too many logs there: another filter is asked for as before', async () => {
    for (const node of [small, large]) bounded(node, 100, () => 'query returned more than 10000 results');
    expect(await refusal(500)).toMatchObject({ suggested: { blocks: 250, logsMax: 10_000 } });
    for (const node of [small, large]) node.lie = (_, truth) => truth;
    expect(await reader.logsOfRange(1, 500, ANY)).toEqual([]);
  });
});
