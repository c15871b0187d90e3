import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ChainClient } from '../../../../shared/chain/client/chain-client.ts';
import { JsonRpcChainReader } from '../../../../shared/chain/client/chain-reader.json-rpc.ts';
import { JsonRpcNode } from '../../../../shared/testing/chain/json-rpc-node.ts';
import { FollowerUnderTest, otherContract, transfer } from '../../testing/follower/follower-under-test.ts';

const LIMITS = { withinMs: 30_000, quarantineMs: 1_000 };
const FINAL_DEPTH = 5;

describe('a provider that returns so many logs at most, without a word about the others', () => {
  let follower: FollowerUnderTest;
  let nodes: JsonRpcNode[];
  let reader: JsonRpcChainReader;
  beforeEach(async () => {
    follower = new FollowerUnderTest({ confirmations: FINAL_DEPTH });
    follower.verifiedEveryMs = 1;
    nodes = await Promise.all([1, 2].map(() => JsonRpcNode.start(follower.chain)));
  });
  afterEach(async () => {
    await follower.stop();
    reader.close();
    await Promise.all(nodes.map((node) => node.stop()));
  });

  const mine = (blocks: number, transfers: number) => {
    for (let block = 0; block < blocks; block += 1)
      follower.chain.mine(Array.from({ length: transfers }, (_, at) => transfer(at)));
  };
  const mineFinal = () => {
    mine(FINAL_DEPTH + 1, 0);
  };
  /** Follows a chain through providers that each have a maximum. */
  const follow = async (maxima: readonly number[]) => {
    for (const [at, most] of maxima.entries()) {
      const node = nodes[at];
      if (node) node.lie = (method, truth) => (method === 'eth_getLogs' ? (truth as unknown[]).slice(0, most) : truth);
    }
    const urls = nodes.slice(0, maxima.length).map(({ url }) => url);
    reader = new JsonRpcChainReader(new ChainClient(follower.chain.chainId, urls, LIMITS));
    await follower.register();
    follower.start({ reader });
  };

  it.each([
    { blocks: 10, transfers: 30, most: 100 },
    { blocks: 4, transfers: 30, most: 100 },
    { blocks: 1, transfers: 150, most: 100 },
    { blocks: 10, transfers: 30, most: 25 },
    { blocks: 20, transfers: 30, most: 256 },
    { blocks: 9, transfers: 50, most: 100 },
    { blocks: 40, transfers: 31, most: 1_000 },
    { blocks: 12, transfers: 17, most: 53 },
    { blocks: 1, transfers: 3, most: 2 },
    { blocks: 1, transfers: 2, most: 1 },
    { blocks: 1, transfers: 11, most: 9 },
    { blocks: 30, transfers: 1, most: 1 },
    { blocks: 20, transfers: 3, most: 2 },
    { blocks: 20, transfers: 7, most: 7 },
  ])('loses nothing of $blocks blocks of $transfers logs where it returns $most', async (of) => {
    mine(3, 0);
    mine(of.blocks, of.transfers);
    mineFinal();
    await follow([of.most]);
    await follower.caughtUp();
    // Nothing had to be corrected.
    await follower.expectChain();
    await follower.verified();
    await follower.expectChain();
    const origins = (await follower.changes()).map(({ data }) => data.Origin);
    expect(new Set(origins)).toEqual(new Set(['backfill']));
  });

  it('loses nothing of more than 8,000 logs', async () => {
    mine(6, 1_700);
    mineFinal();
    await follow([8_000]);
    await follower.verified();
    await follower.expectChain({ isOrdered: false });
  });

  it('loses nothing where both providers do so', async () => {
    mine(10, 30);
    mine(1, 150);
    mineFinal();
    await follow([100, 100]);
    await follower.verified();
    await follower.expectChain({ isOrdered: false });
  });

  it('loses nothing at the head', async () => {
    mine(20, 1);
    await follow([100]);
    await follower.caughtUp();
    mine(1, 150);
    await follower.caughtUp();
    await follower.expectChain();
  });

  it.each([1, 2, 9])('loses nothing at the head of blocks with more than the %i logs that it returns', async (most) => {
    mine(1, most + 1);
    mine(120, 0);
    await follow([most]);
    for (const transfers of [most + 2, 1, most, most + 1]) {
      mine(1, transfers);
      await follower.caughtUp();
      await follower.expectChain();
    }
    mineFinal();
    await follower.verified();
    await follower.expectChain();
  });

  it('is found out by the verification where it answered more before, if blooms announce what is behind', async () => {
    mine(1, 120);
    for (const transfers of [20, 20, 5])
      follower.chain.mine(Array.from({ length: transfers }, (_, at) => ({ ...transfer(at), address: otherContract })));
    mineFinal();
    await follow([1_000]);
    await follower.verified();
    const [node] = nodes;
    if (!node) throw new Error('there is a node');
    // It returned 120 before, so 33 logs do not look like a maximum.
    node.lie = (method, truth) => (method === 'eth_getLogs' ? (truth as unknown[]).slice(0, 33) : truth);
    await follower.register({ watchId: 'wch_elsewhere', contractAddress: otherContract });
    await follower.verified();
    await follower.expectChain({ isOrdered: false });
    const origins = (await follower.changes(otherContract)).map(({ data }) => data.Origin);
    expect(origins.filter((origin) => origin === 'replay')).toHaveLength(12);
  });
});
