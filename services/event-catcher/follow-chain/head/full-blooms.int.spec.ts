import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { LogToMine } from '../../../../shared/testing/chain/simulated-chain.ts';
import { ChainClient } from '../../../../shared/chain/client/chain-client.ts';
import { JsonRpcChainReader } from '../../../../shared/chain/client/chain-reader.json-rpc.ts';
import { JsonRpcNode } from '../../../../shared/testing/chain/json-rpc-node.ts';
import { contract, FollowerUnderTest, transfer } from '../../testing/follower/follower-under-test.ts';

const WATCHES = 100;
const BLOCKS = 12;
/** Logs of contracts that nobody watches. With this many, a bloom has as many bits as on a busy chain. */
const LOGS = 100;
const BITS = 2_048;

const hexOf = (value: number, bytes: number) => `0x${value.toString(16).padStart(2 * bytes, '0')}`;

describe('blocks whose blooms are half full', () => {
  let follower: FollowerUnderTest;
  let node: JsonRpcNode;
  let reader: JsonRpcChainReader;
  let mined = 0;
  beforeEach(async () => {
    follower = new FollowerUnderTest({ blocks: 20 });
    node = await JsonRpcNode.start(follower.chain);
    reader = new JsonRpcChainReader(new ChainClient(2484, [node.url], { withinMs: 30_000 }));
    await follower.register();
    for (let index = 1; index < WATCHES; index += 1) {
      const contractAddress = hexOf(0xc0de0000 + index, 20);
      await follower.register({ watchId: `wch_${String(index)}`, contractAddress });
    }
  });
  afterEach(async () => {
    await follower.stop();
    reader.close();
    await node.stop();
  });

  const logOfOthers = (): LogToMine => {
    mined += 1;
    const [topic0 = ''] = transfer(1).topics;
    return { address: hexOf(mined, 20), topics: [topic0, hexOf(mined, 32), hexOf(mined + 1e9, 32)], data: '0x' };
  };
  /** Mines a block with many logs, before those that are given. */
  const mineFull = (...logs: LogToMine[]) =>
    follower.chain.mine([...Array.from({ length: LOGS }, logOfOthers), ...logs]);
  const askedForLogs = () => node.asked.filter((method) => method === 'eth_getLogs').length;

  it('cost one eth_getLogs at most, whether they have logs of the watches or not', async () => {
    await follower.follow({ reader });
    const bits = BigInt(mineFull().logsBloom).toString(2).replaceAll('0', '').length;
    expect(bits / BITS).toBeGreaterThan(0.3);
    await follower.caughtUp();
    node.asked.length = 0;
    for (let block = 1; block <= BLOCKS; block += 1) {
      const before = askedForLogs();
      mineFull(...(block % 3 === 0 ? [transfer(block)] : []));
      await follower.caughtUp();
      expect(askedForLogs() - before).toBeLessThanOrEqual(1);
    }
    expect(askedForLogs()).toBeGreaterThanOrEqual(BLOCKS / 3);
    await follower.expectChain();
  });

  it('are asked for in whole when they are final, so that a log that is withheld is found', async () => {
    follower.verifiedEveryMs = 50;
    node.lie = (method, truth, [asked]) => {
      const { address } = Object(asked) as { address?: string[] };
      return method === 'eth_getLogs' && address?.includes(contract) ? [] : truth;
    };
    follower.start({ reader });
    await follower.caughtUp();
    mineFull(transfer(7));
    for (let block = 0; block < 6; block += 1) follower.chain.mine([]);
    await follower.verified();
    await follower.expectChain({ isOrdered: false });
  });
});
