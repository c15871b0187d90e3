import { expect, it } from '@jest/globals';
import { JsonRpcNode } from '../../../testing/chain/json-rpc-node.ts';
import { ChainClient } from '../chain-client.ts';
import { JsonRpcChainReader } from '../chain-reader.json-rpc.ts';
import { MemoryChain } from '../../../testing/chain/chain-reader.memory.ts';
import { ChainUnavailable } from '../../chain-reader.ts';

const CHAIN_ID = 2484;
const FILTER = { addresses: [`0x${'a1'.repeat(20)}`], topics: [] };

it('are not taken from a provider that gets the last block of a range only after it was asked for the logs', async () => {
  const chain = new MemoryChain(CHAIN_ID);
  chain.mine([{ address: FILTER.addresses[0] ?? '', topics: [], data: '0x' }]);
  const node = await JsonRpcNode.start(chain);
  node.respond = (response, honest) => {
    const error = { code: -32_600, message: 'batch requests are not supported' };
    const isBatch = honest.startsWith('[');
    response.setHeader('content-type', 'application/json').end(isBatch ? JSON.stringify({ error }) : honest);
  };
  // Number of requests for logs so far; the first is in the refused batch.
  let asked = 0;
  node.lie = (method, truth) => {
    if (method === 'eth_getBlockByNumber') return asked > 1 ? truth : null;
    if (method !== 'eth_getLogs') return truth;
    asked += 1;
    return [];
  };
  const reader = new JsonRpcChainReader(new ChainClient(CHAIN_ID, [node.url]));
  await expect(reader.logsOfRange(0, 1, FILTER)).rejects.toThrow(ChainUnavailable);
  reader.close();
  await node.stop();
});
