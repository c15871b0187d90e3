import { describe, expect, it } from '@jest/globals';
import { silence, withProviders, type SimulatedProvider } from '../../testing/chain/simulated-providers.ts';
import { RpcError } from '../../testing/chain/wire-forms.ts';
import { ChainClient } from './chain-client.ts';
import { JsonRpcChainReader } from './chain-reader.json-rpc.ts';
import { MemoryChain } from '../../testing/chain/chain-reader.memory.ts';
import { ChainUnavailable, RangeTooLarge } from '../chain-reader.ts';

const CHAIN_ID = 2484;
const FILTER = { addresses: [`0x${'a1'.repeat(20)}`], topics: [`0x${'01'.repeat(32)}`] };
const QUARANTINE_MS = 1_000;
const WITHIN_MS = 2_000;
const LIMITS = { withinMs: WITHIN_MS, quarantineMs: QUARANTINE_MS };

const aLog = (data: number) => ({
  ...{ address: FILTER.addresses[0] ?? '', topics: FILTER.topics },
  data: `0x${data.toString(16).padStart(64, '0')}`,
});
const refusing =
  (refused: string, message: string): SimulatedProvider['lie'] =>
  (method, truth) => {
    if (method === refused) throw new RpcError(message);
    return truth;
  };

/** Sends the first bytes of an answer, and no end. */
const halfAnAnswer = (honest: string): Response =>
  new Response(
    new ReadableStream({
      start: (controller) => {
        controller.enqueue(Buffer.from(honest.slice(0, 5)));
      },
    }),
  );

const readerOf = (...providers: SimulatedProvider[]): JsonRpcChainReader => {
  const urls = providers.map(({ url }) => url);
  return new JsonRpcChainReader(new ChainClient(CHAIN_ID, urls, LIMITS));
};

describe('a chain reader whose provider does not answer now', () => {
  const chain = new MemoryChain(CHAIN_ID);
  for (let data = 1; data <= 5; data += 1) chain.mine([aLog(data)]);
  const questions = {
    head: [(reader: JsonRpcChainReader) => reader.head(), chain.tip],
    headers: [(reader: JsonRpcChainReader) => reader.headersByNumber([1, 2, 3]), chain.headers.slice(1, 4)],
    'a range': [(reader: JsonRpcChainReader) => reader.logsOfRange(1, 5, FILTER), chain.logs],
  } as const;

  it.each<[string, number, SimulatedProvider['respond']]>([
    ['too many requests', 0, () => new Response('slow down', { status: 429 })],
    ['silence', WITHIN_MS, silence],
    ['half an answer and silence', WITHIN_MS, halfAnAnswer],
  ])('queries another one after %s', async (_, waitedMs, respond) => {
    for (const [ask, truth] of Object.values(questions)) {
      await withProviders(chain, async ({ first, second, time }) => {
        first.respond = respond;
        const reader = readerOf(first, second);
        expect(await ask(reader)).toEqual(truth);
        expect([first.requests, time.elapsed()]).toEqual([1, waitedMs]);
        expect(await ask(reader)).toEqual(truth);
        expect([first.requests, time.elapsed()]).toEqual([1, waitedMs]);
        reader.close();
      });
    }
  });

  it('asks a provider for its chain id again after its quarantine', () =>
    withProviders(chain, async ({ first, second, time }) => {
      const reader = readerOf(first, second);
      first.lie = (method, truth) => (method === 'eth_getBlockByNumber' ? null : truth);
      expect(await reader.head()).toEqual(chain.tip);
      first.lie = (method, truth) => (method === 'eth_chainId' ? '0x1' : truth);
      first.asked.length = 0;
      await time.pause(QUARANTINE_MS - 1);
      expect(await reader.head()).toEqual(chain.tip);
      expect(first.asked).toEqual([]);
      await time.pause(1);
      expect(await reader.head()).toEqual(chain.tip);
      expect(first.asked).toEqual(['eth_chainId']);
      reader.close();
    }));

  it('throws RangeTooLarge when the provider hangs on the range and answers other requests', () =>
    withProviders(chain, async ({ first }) => {
      const reader = readerOf(first);
      await reader.head();
      first.respond = (honest) => (honest.includes('logIndex') ? silence() : new Response(honest));
      await expect(reader.logsOfRange(1, 5, FILTER)).rejects.toThrow(RangeTooLarge);
      first.respond = silence;
      await expect(reader.logsOfRange(1, 5, FILTER)).rejects.toThrow(ChainUnavailable);
      reader.close();
    }));

  it('throws ChainUnavailable when the only provider limits the rate', () =>
    withProviders(chain, async ({ first }) => {
      const reader = readerOf(first);
      first.lie = refusing('eth_getLogs', 'project ID request rate exceeded');
      await expect(reader.logsOfRange(1, 2, FILTER)).rejects.toThrow(ChainUnavailable);
      first.lie = refusing('eth_getBlockByNumber', 'limit exceeded');
      await expect(reader.head()).rejects.toThrow(ChainUnavailable);
      reader.close();
    }));
});
