import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { JsonRpcNode } from '../../testing/chain/json-rpc-node.ts';
import { RpcError } from '../../testing/chain/wire-forms.ts';
import { ChainClient } from '../client/chain-client.ts';
import { JsonRpcChainReader } from '../client/chain-reader.json-rpc.ts';
import { MemoryChain } from '../../testing/chain/chain-reader.memory.ts';
import { ChainUnavailable, StateUnavailable } from '../chain-reader.ts';

const ADDRESS = `0x${'a1'.repeat(20)}`;

describe('a provider that says it does not have a block', () => {
  const chain = new MemoryChain(2484);
  for (let block = 0; block < 3; block += 1) chain.mine([]);
  let node: JsonRpcNode;
  let reader: JsonRpcChainReader;
  beforeAll(async () => {
    node = await JsonRpcNode.start(chain);
    node.lie = (method, truth) => {
      if (method === 'eth_getCode') throw new RpcError('header not found');
      return truth;
    };
    reader = new JsonRpcChainReader(new ChainClient(2484, [node.url]));
    await reader.head();
  });
  afterAll(async () => {
    reader.close();
    await node.stop();
  });

  it('forgot its state, if the block is not newer than the newest that it has, and is trusted as before', async () => {
    await expect(reader.hasCode(ADDRESS, 1)).rejects.toThrow(StateUnavailable);
    node.asked.length = 0;
    await reader.head();
    expect(node.asked).toEqual(['eth_getBlockByNumber']);
  });

  it.each([chain.tip.number + 1, undefined])('is behind, for a newer block: %s', async (block) => {
    await expect(reader.hasCode(ADDRESS, block)).rejects.toThrow(ChainUnavailable);
  });
});
