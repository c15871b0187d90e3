import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../testing/eventually.ts';
import { withProviders, type SimulatedProvider } from '../../../testing/chain/simulated-providers.ts';
import type { SimulatedTime } from '../../../testing/simulation/simulated-time.ts';
import { ChainClient } from '../chain-client.ts';
import { JsonRpcChainReader } from '../chain-reader.json-rpc.ts';
import { MemoryChain } from '../../../testing/chain/chain-reader.memory.ts';
import { ChainUnavailable } from '../../chain-reader.ts';

const CHAIN_ID = 2484;
const LIMITS = { withinMs: 30_000, quarantineMs: 60_000, compareMs: 20 };
const OVER_WITHIN_MS = 15_000;

const refusing = (seconds: number) => () =>
  new Response('too many requests', { status: 429, headers: { 'retry-after': String(seconds) } });

describe('the choice of a provider', () => {
  const chain = new MemoryChain(CHAIN_ID);
  for (let block = 1; block <= 40; block += 1) chain.mine([]);
  const readerOf = (...providers: SimulatedProvider[]) =>
    new JsonRpcChainReader(
      new ChainClient(
        CHAIN_ID,
        providers.map(({ url }) => url),
        LIMITS,
      ),
    );

  interface Chosen {
    first: SimulatedProvider;
    second: SimulatedProvider;
    reader: JsonRpcChainReader;
    time: SimulatedTime;
    /** Asks for headers until this provider was the one asked. */
    untilAsked: (provider: SimulatedProvider) => Promise<unknown>;
    slow: (provider: SimulatedProvider, delayMs: number) => void;
  }

  const choosing = (test: (chosen: Chosen) => Promise<void>): Promise<void> =>
    withProviders(chain, async ({ first, second, time }) => {
      const reader = readerOf(first, second);
      const untilAsked = (provider: SimulatedProvider) =>
        eventually(
          async () => {
            provider.asked.length = 0;
            await reader.headerByHash(chain.tip.hash);
            return provider.asked.includes('eth_getBlockByHash');
          },
          OVER_WITHIN_MS,
          'the other provider must be asked',
        );
      const slow = (provider: SimulatedProvider, delayMs: number) => {
        provider.respond = (honest) => time.pause(delayMs).then(() => new Response(honest));
      };
      await test({ first, second, reader, time, untilAsked, slow });
      reader.close();
    });

  it('is the one that answers in much less time, and the first again once that does', () =>
    choosing(async ({ first, second, untilAsked, slow }) => {
      slow(first, 60);
      await untilAsked(second);
      slow(second, 400);
      slow(first, 0);
      await untilAsked(first);
    }));

  it('is not one whose head is behind, until it has caught up', () =>
    choosing(async ({ first, second, untilAsked, slow }) => {
      let behind = 30;
      first.lie = (method, truth, [block]) =>
        method === 'eth_getBlockByNumber' && block === 'latest'
          ? wireHeader(chain.headers[chain.tip.number - behind])
          : truth;
      await untilAsked(second);
      await eventually(() => first.asked.length > 0, OVER_WITHIN_MS, 'its head must be compared');
      behind = 0;
      slow(second, 100);
      await untilAsked(first);
    }));

  it('is another while one takes no more requests, which is not a fault of it', () =>
    choosing(async ({ first, second, reader, untilAsked, slow }) => {
      first.respond = refusing(1);
      expect(await reader.head()).toEqual(chain.tip);
      const { requests } = first;
      for (let at = 0; at < 5; at += 1) await reader.head();
      expect(first.requests).toBe(requests);
      first.respond = undefined;
      slow(second, 100);
      await untilAsked(first);
    }));

  it('leaves out one that has not the blocks below its own head', () =>
    choosing(async ({ first, reader }) => {
      first.lie = (method, truth, [block]) => (method === 'eth_getBlockByNumber' && block === '0x3' ? null : truth);
      await reader.head();
      expect(await reader.headersByNumber([2, 3])).toMatchObject([{ number: 2 }, { number: 3 }]);
      expect(await reader.headersByNumber([41])).toEqual([undefined]);
    }));

  it('waits for its place where the only provider takes few requests, and gives up what it wants much later', () =>
    withProviders(chain, async ({ first, time }) => {
      const alone = readerOf(first);
      let left = 2;
      first.respond = (honest) => {
        const isTaken = (left -= 1) >= 0;
        if (!isTaken) left = 2;
        return isTaken ? new Response(honest) : refusing(0)();
      };
      const heads = await Promise.all(Array.from({ length: 6 }, () => alone.head()));
      expect(heads).toEqual(Array.from({ length: 6 }, () => chain.tip));
      first.respond = refusing(600);
      const { requests } = first;
      await expect(alone.head()).rejects.toThrow(ChainUnavailable);
      expect(first.requests).toBe(requests + 1);
      first.respond = undefined;
      const refusedAtMs = time.elapsed();
      expect(await alone.head()).toEqual(chain.tip);
      expect(time.elapsed()).toBe(refusedAtMs + 5_000);
      alone.close();
    }));
});

const wireHeader = (header: MemoryChain['tip'] | undefined): object => ({
  ...header,
  number: `0x${(header?.number ?? 0).toString(16)}`,
  timestamp: `0x${(header?.timestamp ?? 0).toString(16)}`,
});
