import { setTimeout as later } from 'node:timers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../testing/eventually.ts';
import { JsonRpcNode } from '../../../testing/chain/json-rpc-node.ts';
import { startStopwatch } from '../../../testing/stopwatch.ts';
import { ChainClient } from '../chain-client.ts';
import { JsonRpcChainReader } from '../chain-reader.json-rpc.ts';
import { MemoryChain } from '../../../testing/chain/chain-reader.memory.ts';
import { ChainUnavailable } from '../../chain-reader.ts';

const CHAIN_ID = 2484;
const LIMITS = { withinMs: 30_000, quarantineMs: 60_000, compareMs: 20 };
const OVER_WITHIN_MS = 15_000;

describe('the choice of a provider', () => {
  const chain = new MemoryChain(CHAIN_ID);
  for (let block = 1; block <= 40; block += 1) chain.mine([]);
  let first: JsonRpcNode;
  let second: JsonRpcNode;
  let reader: JsonRpcChainReader;
  beforeEach(async () => {
    first = await JsonRpcNode.start(chain);
    second = await JsonRpcNode.start(chain);
    reader = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [first.url, second.url], LIMITS));
  });
  afterEach(async () => {
    reader.close();
    await Promise.all([first.stop(), second.stop()]);
  });

  /** Asks for headers until this provider was the one asked. */
  const untilAsked = (node: JsonRpcNode): Promise<unknown> =>
    eventually(
      async () => {
        node.asked.length = 0;
        await reader.headerByHash(chain.tip.hash);
        return node.asked.includes('eth_getBlockByHash');
      },
      OVER_WITHIN_MS,
      'the other provider must be asked',
    );

  it('is the one that answers in much less time, and the first again once that does', async () => {
    const slow = (node: JsonRpcNode, delayMs: number) => {
      node.respond = (response, honest) => later(() => response.end(honest), delayMs);
    };
    slow(first, 60);
    await untilAsked(second);
    slow(second, 400);
    slow(first, 0);
    await untilAsked(first);
  });

  it('is not one whose head is behind, until it has caught up', async () => {
    let behind = 30;
    first.lie = (method, truth, [block]) =>
      method === 'eth_getBlockByNumber' && block === 'latest'
        ? wireHeader(chain.headers[chain.tip.number - behind])
        : truth;
    await untilAsked(second);
    await eventually(() => first.asked.length > 0, OVER_WITHIN_MS, 'its head must be compared');
    behind = 0;
    second.respond = (response, honest) => later(() => response.end(honest), 100);
    await untilAsked(first);
  });

  it('is another while one takes no more requests, which is not a fault of it', async () => {
    first.respond = (response) => response.writeHead(429, { 'retry-after': '1' }).end('slow down');
    expect(await reader.head()).toEqual(chain.tip);
    const { requests } = first;
    for (let at = 0; at < 5; at += 1) await reader.head();
    expect(first.requests).toBe(requests);
    first.respond = undefined;
    await untilAsked(first);
  });

  it('leaves out one that has not the blocks below its own head', async () => {
    first.lie = (method, truth, [block]) => (method === 'eth_getBlockByNumber' && block === '0x3' ? null : truth);
    await reader.head();
    expect(await reader.headersByNumber([2, 3])).toMatchObject([{ number: 2 }, { number: 3 }]);
    expect(await reader.headersByNumber([41])).toEqual([undefined]);
  });

  it('waits for its place where the only provider takes few requests, and gives up what it wants much later', async () => {
    const alone = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [first.url], LIMITS));
    let left = 2;
    first.respond = (response, honest) => {
      const isTaken = (left -= 1) >= 0;
      if (!isTaken) left = 2;
      if (isTaken) response.end(honest);
      else response.writeHead(429, { 'retry-after': '0' }).end('too many requests');
    };
    const heads = await Promise.all(Array.from({ length: 6 }, () => alone.head()));
    expect(heads).toEqual(Array.from({ length: 6 }, () => chain.tip));
    first.respond = (response) => response.writeHead(429, { 'retry-after': '600' }).end('too many requests');
    const { requests } = first;
    await expect(alone.head()).rejects.toThrow(ChainUnavailable);
    expect(first.requests).toBe(requests + 1);
    first.respond = undefined;
    const passedMs = startStopwatch();
    expect(await alone.head()).toEqual(chain.tip);
    expect(passedMs()).toBeLessThan(6_000);
    alone.close();
  });
});

const wireHeader = (header: MemoryChain['tip'] | undefined): object => ({
  ...header,
  number: `0x${(header?.number ?? 0).toString(16)}`,
  timestamp: `0x${(header?.timestamp ?? 0).toString(16)}`,
});
