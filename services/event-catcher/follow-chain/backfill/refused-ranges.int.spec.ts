import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ChainClient } from '../../../../shared/chain/client/chain-client.ts';
import { JsonRpcChainReader } from '../../../../shared/chain/client/chain-reader.json-rpc.ts';
import type { BlockRange } from '../../../../shared/chain/client/refusals/suggested-range.ts';
import { JsonRpcNode } from '../../../../shared/testing/chain/json-rpc-node.ts';
import { RpcError } from '../../../../shared/testing/chain/wire-forms.ts';
import { FollowerUnderTest, mineSome, transfer } from '../../testing/follower/follower-under-test.ts';

const LIMITS = { withinMs: 30_000, quarantineMs: 1_000 };
const quantity = (block: number) => `0x${block.toString(16)}`;
const blocksOf = ({ from, to }: BlockRange) => to - from + 1;
const isRange = (value: unknown): value is { fromBlock: string; toBlock: string } =>
  typeof value === 'object' && value !== null && 'fromBlock' in value && 'toBlock' in value;

describe('a range that a provider refuses to a backfill', () => {
  let follower: FollowerUnderTest;
  let node: JsonRpcNode;
  let reader: JsonRpcChainReader;
  /** Ranges in the order of their requests. */
  let asked: (BlockRange & { isRefused: boolean })[];

  beforeEach(async () => {
    follower = new FollowerUnderTest();
    node = await JsonRpcNode.start(follower.chain);
    reader = new JsonRpcChainReader(new ChainClient(follower.chain.chainId, [node.url], LIMITS));
    asked = [];
  });
  afterEach(async () => {
    await follower.stop();
    reader.close();
    await node.stop();
  });

  const logsIn = ({ from, to }: BlockRange) =>
    follower.chain.logs.filter(({ blockNumber }) => from <= blockNumber && blockNumber <= to).length;

  /** Refuses each request for which `refusal` returns an error. */
  const refusing = (refusal: (range: BlockRange) => RpcError | undefined) => {
    node.lie = (method, truth, [filter]) => {
      // Without a filter, only the length of the answer matters.
      if (method !== 'eth_getLogs' || !isRange(filter) || !('address' in filter)) return truth;
      const range = { from: Number(filter.fromBlock), to: Number(filter.toBlock) };
      const error = refusal(range);
      // An answer that may be cut is compared with answers for its two ends.
      const isWithin = (one: BlockRange) => one.from <= range.from && range.to <= one.to;
      if (asked.some((one) => !one.isRefused && isWithin(one))) return truth;
      asked.push({ ...range, isRefused: error !== undefined });
      if (error) throw error;
      return truth;
    };
  };
  /** For each refused range, the next range with the same start. */
  const askedInstead = () =>
    asked.flatMap(({ from, isRefused }, at) => {
      const instead = isRefused ? asked.slice(at + 1).find((range) => range.from === from) : undefined;
      return instead ? [blocksOf(instead)] : [];
    });
  const backfill = async () => {
    await follower.register();
    await follower.follow({ reader });
  };
  const areReadOnce = () => {
    const answered = asked.filter(({ isRefused }) => !isRefused).toSorted((left, right) => left.from - right.from);
    return answered.every(({ from }, at) => from === (answered[at - 1]?.to ?? -1) + 1);
  };

  it.each([
    [
      'message',
      (from: string, to: string) => new RpcError(`query timed out, this block range should work: [${from}, ${to}]`),
    ],
    [
      'data',
      (from: string, to: string) =>
        new RpcError('query exceeds max results', { code: -32_005, data: { from, to, limit: 10_000 } }),
    ],
  ])('is followed by the one that its %s names', async (_, naming) => {
    mineSome(follower.chain, 1_500);
    refusing(({ from, to }) => (to - from < 123 ? undefined : naming(quantity(from), quantity(from + 122))));
    await backfill();
    expect(new Set(askedInstead())).toEqual(new Set([123]));
    expect(areReadOnce()).toBe(true);
  });

  it('is followed by as many blocks as it says that the provider takes, and no refusal comes again', async () => {
    mineSome(follower.chain, 1_500);
    refusing(({ from, to }) =>
      to - from < 128 ? undefined : new RpcError('eth_getLogs is limited to a 128 block range'),
    );
    await backfill();
    expect(new Set(askedInstead())).toEqual(new Set([128]));
    expect(asked.filter(({ isRefused }) => isRefused)).toHaveLength(1);
    expect(areReadOnce()).toBe(true);
  });

  it.each(['query returned more than 100 results', 'response size exceeded'])(
    'for its logs is narrowed until these are read, and no longer: %s',
    async (text) => {
      for (let block = 0; block < 600; block += 1) follower.chain.mine([transfer(block)].slice(block % 50));
      for (let block = 0; block < 60; block += 1)
        follower.chain.mine(Array.from({ length: 40 }, (_, at) => transfer(at)));
      for (let block = 0; block < 1_500; block += 1) follower.chain.mine([transfer(block)].slice(block % 50));
      refusing((range) => (logsIn(range) > 100 ? new RpcError(text) : undefined));
      await backfill();
      const answered = asked.filter(({ isRefused }) => !isRefused);
      const after = answered.filter(({ from }) => from > 661).map(blocksOf);
      expect(after.length).toBeLessThan(10);
      expect(Math.max(...after)).toBeGreaterThan(400);
      expect(asked.length - answered.length).toBeLessThan(answered.length / 2);
      expect(areReadOnce()).toBe(true);
    },
  );
});
