import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JsonRpcNode } from '../../../testing/chain/json-rpc-node.ts';
import { withProviders } from '../../../testing/chain/simulated-providers.ts';
import { RpcError } from '../../../testing/chain/wire-forms.ts';
import { ChainClient } from '../chain-client.ts';
import { JsonRpcChainReader } from '../chain-reader.json-rpc.ts';
import { MemoryChain } from '../../../testing/chain/chain-reader.memory.ts';
import { BlocksRefused, ChainUnavailable, RangeTooLarge } from '../../chain-reader.ts';
import { refusalsOfOtherKinds } from '../../../testing/chain/known-refusals/refusals-of-other-kinds.ts';
import { unnamedRanges } from '../../../testing/chain/known-refusals/unnamed-ranges.ts';
import { namedRanges, type KnownRefusal } from '../../../testing/chain/known-refusals/named-ranges.ts';

const CHAIN_ID = 2484;
const ANY = { addresses: [], topics: [] };
const ASKED = { from: 1_000_000, to: 1_999_999 };
/** Longer than jest waits, because after a timeout the reader would request a smaller range. */
const LIMITS = { withinMs: 3_600_000 };

const titled = (refusals: readonly KnownRefusal[]) =>
  refusals.map((refusal) => [`${refusal.by}: ${refusal.message}`, refusal] as const);

describe('a range that a provider refuses', () => {
  const chain = new MemoryChain(CHAIN_ID);

  /** Returns the error of the reader when the provider gives this refusal. */
  const askedFor = async (refusal: KnownRefusal): Promise<unknown> => {
    const { httpStatus = 200, code, message, data, asked = ASKED } = refusal;
    let thrown: unknown;
    await withProviders(chain, async ({ first }) => {
      first.lie = (method, truth) => {
        if (/eth_getLogs|Receipt/.test(method)) throw new RpcError(message, { code, data });
        return truth;
      };
      first.respond = (honest) => new Response(honest, { status: honest.includes('"error"') ? httpStatus : 200 });
      const reader = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [first.url], LIMITS));
      thrown = await reader.logsOfRange(asked.from, asked.to, ANY).catch((error: unknown) => error);
      reader.close();
    });
    return thrown;
  };

  it.each(titled([...namedRanges, ...unnamedRanges]))(
    'is too large, and the next one is known: %s',
    async (_, refusal) => {
      const { blocks, of, logsMax } = refusal;
      const error = await askedFor(refusal);
      expect(error).toBeInstanceOf(RangeTooLarge);
      expect(error).toMatchObject({ suggested: { blocks, of, logsMax } });
    },
  );

  const isKnown = ({ is }: KnownRefusal) => is !== 'other';
  it.each(titled(refusalsOfOtherKinds.filter(isKnown)))('is not too large: %s', async (_, refusal) => {
    expect(await askedFor(refusal)).toBeInstanceOf(ChainUnavailable);
  });

  const ofUnknownKind = refusalsOfOtherKinds.filter((refusal) => !isKnown(refusal));
  it.each(titled(ofUnknownKind))('may be too large, so that half of it is next: %s', async (_, refusal) => {
    const error = await askedFor(refusal);
    expect(error).toBeInstanceOf(RangeTooLarge);
    expect(error).toMatchObject({ suggested: { blocks: 500_000 } });
  });
  it.each(titled(ofUnknownKind))('is refused as such where it has one block: %s', async (_, refusal) => {
    chain.mine([{ address: `0x${'a1'.repeat(20)}`, topics: [], data: '0x' }]);
    const error = await askedFor({ ...refusal, asked: { from: 1, to: 1 } });
    expect(error).toBeInstanceOf(BlocksRefused);
    expect(error).toMatchObject({ refusal: { isPrunedEverywhere: false } });
  });
});

describe('logs of many addresses', () => {
  const addresses = Array.from({ length: 2_345 }, (_, at) => `0x${at.toString(16).padStart(40, '0')}`);
  const topics = Array.from({ length: 1_200 }, (_, at) => `0x${at.toString(16).padStart(64, '0')}`);
  const logOf = (at: number) => ({
    address: addresses[at % addresses.length] ?? '',
    topics: [topics[(at * 7) % topics.length] ?? ''],
    data: `0x${at.toString(16).padStart(64, '0')}`,
  });
  const chain = new MemoryChain(CHAIN_ID);
  for (let block = 0; block < 5; block += 1) {
    chain.mine(Array.from({ length: 400 }, (_, at) => logOf((block * 400 + at) * 31)));
  }
  let node: JsonRpcNode;
  let reader: JsonRpcChainReader;
  /** How many addresses and topics each request of logs had. */
  let sizes: (readonly [number, number])[];
  beforeEach(async () => {
    node = await JsonRpcNode.start(chain);
    reader = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [node.url], LIMITS));
    sizes = [];
  });
  afterEach(async () => {
    reader.close();
    await node.stop();
  });

  /** Makes the node accept at most this many of each, and refuse more with this text. */
  const taking = (most: number, message: string): void => {
    node.lie = (method, truth, [asked]) => {
      if (method !== 'eth_getLogs') return truth;
      const { address = [], topics: [few = []] = [] } = asked as { address?: string[]; topics?: string[][] };
      if (address.length + few.length > 0) sizes.push([address.length, few.length]);
      if (Math.max(address.length, few.length) > most) throw new RpcError(message, { code: -32_602 });
      return truth;
    };
  };

  it('are asked for a thousand at a time, and returned in chain order', async () => {
    taking(1_000, 'exceed max addresses or topics per search position');
    expect(await reader.logsOfRange(1, 5, { addresses, topics: [] })).toEqual(chain.logs);
    // One request, before those that check for truncated answers.
    expect(sizes.slice(0, 3)).toEqual([
      [1_000, 0],
      [1_000, 0],
      [345, 0],
    ]);
    expect(node.requests).toBeLessThanOrEqual(5);
  });

  it('and many topics are asked for in every combination', async () => {
    taking(1_000, 'exceed max addresses or topics per search position');
    const [, header] = chain.headers;
    if (!header) throw new Error('the chain has blocks');
    expect(await reader.logsOfBlock(header, { addresses, topics })).toEqual(chain.logs.slice(0, 400));
    expect(sizes).toHaveLength(6);
  });

  it.each([
    ['Please, specify less number of addresses', 300],
    ['exceed max addresses or topics per search position', 20],
  ])('are asked for in parts that the provider takes, and from then on at once: %s', async (message, most) => {
    taking(most, message);
    expect(await reader.logsOfRange(1, 5, { addresses, topics: [] })).toEqual(chain.logs);
    const largest = Math.max(...sizes.slice(-1).flat(), ...sizes.slice(-2).flat());
    expect(largest).toBeLessThanOrEqual(most);
    expect(largest).toBeGreaterThan(most / 4);
    sizes = [];
    expect(await reader.logsOfRange(1, 5, { addresses, topics: [] })).toEqual(chain.logs);
    expect(Math.max(...sizes.flat())).toBeLessThanOrEqual(most);
  });

  it('are not asked for again and again of a provider that takes not even one', async () => {
    taking(0, 'Please, specify less number of addresses');
    await expect(reader.logsOfRange(1, 5, { addresses, topics: [] })).rejects.toThrow(ChainUnavailable);
    expect(node.requests).toBeLessThan(20);
  });

  const forgetting: Record<string, JsonRpcNode['lie']> = {
    'has no header of it': (method, truth, params) =>
      method === 'eth_getBlockByNumber' && Number(params[0]) < 190 ? null : truth,
    'says that there is no such block': (method, truth, params) => {
      const [filter] = params as [{ fromBlock?: string } | undefined];
      if (method === 'eth_getLogs' && Number(filter?.fromBlock) < 190) {
        throw new RpcError('One of the blocks specified in filter (fromBlock, toBlock or blockHash) cannot be found.');
      }
      return truth;
    },
  };
  it.each(Object.entries(forgetting))(
    'is of blocks that are probably pruned where a node with much newer ones %s',
    async (_, lie) => {
      while (chain.tip.number < 200) chain.mine([]);
      node.lie = lie;
      node.respond = undefined;
      await reader.head();
      const asked = (from: number) => reader.logsOfRange(from, from + 5, ANY).catch((error: unknown) => error);
      const pruned = await asked(10);
      expect(pruned).toBeInstanceOf(BlocksRefused);
      expect(pruned).toMatchObject({ refusal: { isPrunedEverywhere: false } });
      const newer = await asked(150);
      expect(newer).toBeInstanceOf(ChainUnavailable);
      expect(newer).not.toBeInstanceOf(BlocksRefused);
    },
  );
});
