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

type Lie = (logs: Record<string, unknown>[]) => unknown;

describe('logs that are asked for again', () => {
  const chain = new MemoryChain(2484);
  // A node gives more logs without a filter than with one, so that no answer looks truncated.
  const others = Array.from({ length: 5 }, () => ({ address: `0x${'b2'.repeat(20)}`, topics: [], data: '0x' }));
  for (let block = 1; block <= 3; block += 1)
    chain.mine([{ address: ADDRESS, topics: [], data: `0x${String(block).padStart(64, '0')}` }, ...others]);
  const logs = chain.logs.filter(({ address }) => address === ADDRESS);
  let nodes: JsonRpcNode[];
  let reader: JsonRpcChainReader;
  /** By node: what it gives instead of the logs that pass a filter, and how often it was asked for these. */
  let lies: Lie[];
  let askedForLogs: number[];
  beforeEach(async () => {
    lies = [1, 2, 3].map(() => (truth) => truth);
    askedForLogs = [0, 0, 0];
    nodes = await Promise.all([1, 2, 3].map(() => JsonRpcNode.start(chain)));
    for (const [at, node] of nodes.entries())
      node.lie = (method, truth, [filter]) => {
        if (method !== 'eth_getLogs' || !('address' in Object(filter))) return truth;
        askedForLogs[at] = (askedForLogs[at] ?? 0) + 1;
        return lies[at]?.(truth as Record<string, unknown>[]);
      };
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

  const lie = (of: number, about: Lie) => {
    lies[of] = about;
  };
  const again = () => reader.crossCheckedLogs(1, 3, FILTER);
  const refuse = (message: string) => () => {
    throw new RpcError(message);
  };

  it('are every log that one of two endpoints gives', async () => {
    lie(0, ([first]) => [first]);
    lie(1, ([, ...others]) => others);
    expect(await again()).toEqual({ logs, disputed: [], endpoints: 2 });
    expect(askedForLogs).toEqual([1, 1, 0]);
  });

  it('are disputed where two endpoints have different logs, or blocks, not where one leaves them out', async () => {
    const [, node] = nodes;
    const answer = node?.lie;
    if (!node || !answer) throw new Error('there is a second node');
    const hash = `0x${'e'.repeat(64)}`;
    node.lie = (method, truth, params) =>
      method === 'eth_getBlockByNumber' && params[0] === '0x2'
        ? { ...Object(truth), hash }
        : answer(method, truth, params);
    lie(1, ([first, second, third]) => [
      { ...first, data: '0x01' },
      { ...second, blockHash: hash },
      third && { ...third, blockTimestamp: undefined },
    ]);
    expect(await again()).toEqual({ logs, disputed: [1, 2], endpoints: 2 });
  });

  it('are those of another endpoint where one fails, and of a single one where no other answers', async () => {
    lie(0, refuse('internal error'));
    expect(await again()).toMatchObject({ logs, endpoints: 2 });
    lie(1, refuse('internal error'));
    expect(await again()).toMatchObject({ logs, endpoints: 1 });
    lie(2, refuse('internal error'));
    await expect(again()).rejects.toThrow(RangeTooLarge);
  });

  it('are asked of no endpoint besides another one that failed again and again', async () => {
    lie(1, refuse('internal error'));
    lie(2, refuse('internal error'));
    for (let times = 1; times <= 5; times += 1) expect(await again()).toMatchObject({ logs, endpoints: 1 });
    expect(askedForLogs).toEqual([5, 3, 3]);
    lie(0, refuse('internal error'));
    await expect(again()).rejects.toThrow(RangeTooLarge);
    expect(askedForLogs).toEqual([6, 4, 4]);
  });

  it('are of fewer blocks only where not two endpoints take as many', async () => {
    lie(0, refuse('block range too large, maximum is 2 blocks'));
    expect(await again()).toMatchObject({ logs, endpoints: 2 });
    lie(1, refuse('block range too large, maximum is 2 blocks'));
    await expect(again()).rejects.toThrow(RangeTooLarge);
  });
});
