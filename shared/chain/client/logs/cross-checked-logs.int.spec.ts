import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JsonRpcNode } from '../../../testing/chain/json-rpc-node.ts';
import { RpcError } from '../../../testing/chain/wire-forms.ts';
import { ChainClient } from '../chain-client.ts';
import { JsonRpcChainReader } from '../chain-reader.json-rpc.ts';
import { MemoryChain } from '../../../testing/chain/chain-reader.memory.ts';
import { PATIENT_LIMITS } from '../../../testing/chain/patient-limits.ts';
import { RangeTooLarge } from '../../chain-reader.ts';

const ADDRESS = `0x${'a1'.repeat(20)}`;
const FILTER = { addresses: [ADDRESS], topics: [] };

describe('logs that are asked for again', () => {
  const chain = new MemoryChain(2484);
  for (let block = 1; block <= 3; block += 1)
    chain.mine([{ address: ADDRESS, topics: [], data: `0x${String(block).padStart(64, '0')}` }]);
  let nodes: JsonRpcNode[];
  let reader: JsonRpcChainReader;
  beforeEach(async () => {
    nodes = await Promise.all([1, 2, 3].map(() => JsonRpcNode.start(chain)));
    reader = new JsonRpcChainReader(
      new ChainClient(
        2484,
        nodes.map(({ url }) => url),
        PATIENT_LIMITS,
      ),
    );
  });
  afterEach(async () => {
    reader.close();
    await Promise.all(nodes.map((node) => node.stop()));
  });

  const lie = (of: number, about: (logs: Record<string, unknown>[]) => unknown) => {
    const [node] = nodes.slice(of);
    if (!node) throw new Error('there is no such node');
    node.lie = (method, truth) => (method === 'eth_getLogs' ? about(truth as Record<string, unknown>[]) : truth);
  };
  const again = () => reader.crossCheckedLogs(1, 3, FILTER);
  const refuse = (message: string) => () => {
    throw new RpcError(message);
  };
  const askedForLogs = () => nodes.map(({ asked }) => asked.filter((method) => method === 'eth_getLogs').length);

  it('are every log that one of two endpoints gives', async () => {
    lie(0, ([first]) => [first]);
    lie(1, ([, ...others]) => others);
    expect(await again()).toEqual({ logs: chain.logs, disputed: [], endpoints: 2 });
    expect(askedForLogs()).toEqual([1, 1, 0]);
  });

  it('are disputed where two endpoints have different logs, or blocks, not where one leaves them out', async () => {
    lie(1, ([first, second, third]) => [
      { ...first, data: '0x01' },
      { ...second, blockHash: `0x${'e'.repeat(64)}` },
      third && { ...third, blockTimestamp: undefined },
    ]);
    expect(await again()).toEqual({ logs: chain.logs, disputed: [1, 2], endpoints: 2 });
  });

  it('are not those of an endpoint whose logs have another hash of the last block than its header', async () => {
    lie(0, (logs) =>
      logs.map((log) => ({ ...log, blockHash: `0x${'e'.repeat(63)}${String(log['blockNumber']).slice(-1)}` })),
    );
    expect(await again()).toEqual({ logs: chain.logs, disputed: [], endpoints: 2 });
    expect(askedForLogs()).toEqual([1, 1, 1]);
  });

  it('are those of another endpoint where one fails, and of a single one where no other answers', async () => {
    lie(0, refuse('internal error'));
    expect(await again()).toMatchObject({ logs: chain.logs, endpoints: 2 });
    lie(1, refuse('internal error'));
    expect(await again()).toMatchObject({ logs: chain.logs, endpoints: 1 });
    lie(2, refuse('internal error'));
    await expect(again()).rejects.toThrow(RangeTooLarge);
  });

  it('are asked of no endpoint besides another one that failed again and again', async () => {
    lie(1, refuse('internal error'));
    lie(2, refuse('internal error'));
    for (let times = 1; times <= 5; times += 1) expect(await again()).toMatchObject({ logs: chain.logs, endpoints: 1 });
    expect(askedForLogs()).toEqual([5, 3, 3]);
    lie(0, refuse('internal error'));
    await expect(again()).rejects.toThrow(RangeTooLarge);
    expect(askedForLogs()).toEqual([6, 4, 4]);
  });

  it('are of fewer blocks only where not two endpoints take as many', async () => {
    lie(0, refuse('block range too large, maximum is 2 blocks'));
    expect(await again()).toMatchObject({ logs: chain.logs, endpoints: 2 });
    lie(1, refuse('block range too large, maximum is 2 blocks'));
    await expect(again()).rejects.toThrow(RangeTooLarge);
  });
});
