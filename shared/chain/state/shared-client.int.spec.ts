import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../testing/eventually.ts';
import { MemoryChain } from '../../testing/chain/chain-reader.memory.ts';
import { JsonRpcNode } from '../../testing/chain/json-rpc-node.ts';
import { silence, withProviders } from '../../testing/chain/simulated-providers.ts';
import { HOUR_MS, PATIENT_LIMITS } from '../../testing/chain/patient-limits.ts';
import { ChainClient } from '../client/chain-client.ts';
import { JsonRpcChainReader } from '../client/chain-reader.json-rpc.ts';
import { LatestState } from './latest-state.ts';

const CHAIN_ID = 2484;
const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const EMPTY = { wei: 0n, hasCode: false };

describe('one client of a chain, which a reader of logs and the newest state share', () => {
  const chain = new MemoryChain(CHAIN_ID);
  let first: JsonRpcNode;
  let second: JsonRpcNode;
  let client: ChainClient;
  beforeEach(async () => {
    [first, second] = await Promise.all([JsonRpcNode.start(chain), JsonRpcNode.start(chain)]);
    for (const node of [first, second]) node.lie = (method, truth) => (method === 'eth_getCode' ? '0x' : truth);
    client = new ChainClient(CHAIN_ID, [first.url, second.url], PATIENT_LIMITS);
  });
  afterEach(async () => {
    client.close();
    await Promise.all([first.stop(), second.stop()]);
  });

  it('given requests of logs that wait for their answers, then the newest state is answered meanwhile', async () => {
    const waiting: (() => void)[] = [];
    first.respond = (response, honest) => {
      const answer = () => response.end(honest);
      if (first.asked.at(-1) === 'eth_getLogs') waiting.push(answer);
      else answer();
    };
    const reader = new JsonRpcChainReader(client);
    const filter = { addresses: [ADDRESS.toLowerCase()], topics: [] };
    const logs = Array.from({ length: 20 }, () => reader.logsOfRange(0, 0, filter));
    await eventually(() => waiting.length === logs.length, 5_000, 'all logs must be asked for at the same time');
    const { requests } = second;
    expect(await new LatestState(client, HOUR_MS).account(ADDRESS)).toEqual(EMPTY);
    expect(second.requests).toBe(requests);
    for (const answer of waiting) answer();
    expect(await Promise.all(logs)).toEqual(logs.map(() => []));
  });

  it('given an endpoint that is silent, then another is asked as soon as the question has waited for so long', () =>
    withProviders(chain, async (simulated) => {
      const shared = new ChainClient(CHAIN_ID, [simulated.first.url, simulated.second.url]);
      simulated.first.respond = silence;
      simulated.second.lie = second.lie;
      expect(await new LatestState(shared, 1_000).account(ADDRESS)).toEqual(EMPTY);
      expect([simulated.first.requests, simulated.time.elapsed()]).toEqual([1, 1_000]);
      shared.close();
    }));

  it('given an endpoint that failed one of them, then the other asks the next one first', async () => {
    first.lie = () => {
      throw new Error('it failed');
    };
    await new JsonRpcChainReader(client).head();
    const { requests } = first;
    expect(await new LatestState(client, HOUR_MS).account(ADDRESS)).toEqual(EMPTY);
    expect(first.requests).toBe(requests);
  });

  it('given that it is closed, then neither waits any longer', async () => {
    for (const node of [first, second]) node.respond = () => undefined;
    const waiting = [new JsonRpcChainReader(client).head(), new LatestState(client, HOUR_MS).headBlock()];
    client.close();
    for (const one of await Promise.allSettled(waiting)) expect(one).toMatchObject({ status: 'rejected' });
  });
});
