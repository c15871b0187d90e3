import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ChainClient } from '../../../../shared/chain/client/chain-client.ts';
import { JsonRpcChainReader } from '../../../../shared/chain/client/chain-reader.json-rpc.ts';
import { BlocksRefused } from '../../../../shared/chain/chain-reader.ts';
import { JsonRpcNode } from '../../../../shared/testing/chain/json-rpc-node.ts';
import { RpcError } from '../../../../shared/testing/chain/wire-forms.ts';
import { transferWatch } from '../../testing/example-watches.ts';
import { FollowerUnderTest, mineSome } from '../../testing/follower/follower-under-test.ts';

const ANY = { addresses: [], topics: [] };
const filterIn = (value: unknown) => Object(value) as { fromBlock?: string; toBlock?: string };

describe('a provider that refuses logs', () => {
  let follower: FollowerUnderTest;
  let node: JsonRpcNode;
  let reader: JsonRpcChainReader;
  let asked: number[];
  beforeEach(async () => {
    asked = [];
    follower = new FollowerUnderTest({ blocks: 300 });
    node = await JsonRpcNode.start(follower.chain);
    reader = new JsonRpcChainReader(new ChainClient(follower.chain.chainId, [node.url], { withinMs: 30_000 }));
  });
  afterEach(async () => {
    await follower.stop();
    reader.close();
    await node.stop();
  });

  /** @param refuse the error for a request of these blocks, if it is refused */
  const refusing = (refuse: (blocks: { from: number; to: number }) => RpcError | undefined) => {
    node.lie = (method, truth, [given]) => {
      const { fromBlock, toBlock } = filterIn(given);
      if (method !== 'eth_getLogs' || fromBlock === undefined) return truth;
      const blocks = { from: Number(fromBlock), to: Number(toBlock) };
      asked.push(blocks.to - blocks.from + 1);
      const error = refuse(blocks);
      if (error) throw error;
      return truth;
    };
  };

  it.each(['number of logs exceeds the maximum', "You've exceeded max limit of 2000 blocks", 'nope', ''])(
    'in words that nobody knows is asked for half as many blocks, until it answers: %s',
    async (text) => {
      refusing(({ from, to }) => (to - from >= 20 ? new RpcError(text) : undefined));
      await follower.register();
      await follower.follow({ reader });
      expect(asked.filter((blocks) => blocks > 20).length).toBeLessThan(asked.length / 2);
    },
  );

  it('of one block in such words is asked for it by its hash', async () => {
    refusing(({ from }) => (from <= 40 ? new RpcError('nope') : undefined));
    expect(await reader.logsOfRange(40, 40, ANY)).toEqual(await follower.chain.logsOfRange(40, 40, ANY));
  });

  it('of one block whatever is asked refuses it, and whoever has pruned it says so', async () => {
    node.lie = (method, truth) => {
      if (/Logs|Receipt/.test(method)) throw new RpcError('nope');
      return truth;
    };
    const refusal = await reader.logsOfRange(41, 41, ANY).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(BlocksRefused);
    expect(refusal).toMatchObject({ refusal: { reason: 'provider 1: nope', isPrunedEverywhere: false } });
    refusing(() => new RpcError('gone', { code: 4444 }));
    await expect(reader.logsOfRange(10, 40, ANY)).rejects.toMatchObject({ refusal: { isPrunedEverywhere: true } });
  });

  it('of old blocks, which it has pruned, keeps nobody from what it has', async () => {
    const pruned = new RpcError('pruned history unavailable', { code: 4444 });
    refusing(({ from }) => (from < 50 ? pruned : undefined));
    await follower.register();
    await follower.register({ watchId: 'wch_other', startBlock: 60 });
    follower.start({ reader });
    await follower.caughtUp();
    mineSome(follower.chain, 10, 9_000);
    const isStored = async () => {
      const expected = follower.recordsOnChain().filter((record) => Number(record.split(' ')[1]) >= 50);
      return (await follower.observed()).toSorted().join() === expected.toSorted().join();
    };
    await follower.until(isStored, 'all that is there must be stored');
    expect((await follower.progress())?.backfills).toMatchObject([
      {
        watchIds: [transferWatch.watchId],
        next: 0,
        to: 49,
        gap: { reason: expect.stringContaining('pruned history') },
      },
    ]);
  });

  it('of old blocks is no gap while another provider has them', async () => {
    const archive = await JsonRpcNode.start(follower.chain);
    reader.close();
    reader = new JsonRpcChainReader(
      new ChainClient(follower.chain.chainId, [node.url, archive.url], { withinMs: 30_000 }),
    );
    refusing(({ from }) => (from < 50 ? new RpcError('pruned history unavailable') : undefined));
    await follower.register();
    await follower.follow({ reader });
    expect((await follower.progress())?.backfills).toEqual([]);
    await follower.stop();
    await archive.stop();
  });
});
