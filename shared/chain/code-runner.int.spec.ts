import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JsonRpcNode, RpcError } from '../testing/json-rpc-node.ts';
import { MemoryChain } from './chain-reader.memory.ts';
import { ChainUnavailable } from './chain-reader.ts';
import { JsonRpcCodeRunner } from './code-runner.json-rpc.ts';

const CHAIN_ID = 2484;
const GAS = 1_000_000;
const THREE = `0x${'3'.padStart(64, '0')}`;

describe('running code on a chain', () => {
  let wrong: JsonRpcNode;
  let right: JsonRpcNode;
  beforeEach(async () => {
    const chain = new MemoryChain(CHAIN_ID);
    [wrong, right] = await Promise.all([JsonRpcNode.start(chain), JsonRpcNode.start(chain)]);
    right.lie = (method, truth) => (method === 'eth_call' ? THREE : truth);
  });
  afterEach(() => Promise.all([wrong.stop(), right.stop()]));

  const runnerOf = (...nodes: JsonRpcNode[]) =>
    new JsonRpcCodeRunner(
      CHAIN_ID,
      nodes.map(({ url }) => url),
      { withinMs: 500 },
    );

  it('returns the word that the code returned, and names the gas that it may use', async () => {
    let asked: readonly unknown[] = [];
    right.lie = (method, truth, params) => {
      if (method !== 'eth_call') return truth;
      asked = params;
      return THREE;
    };
    expect(await runnerOf(right).run('0x6000', GAS)).toBe(3n);
    expect(asked).toEqual([{ data: '0x6000', gas: '0xf4240' }, 'latest']);
  });

  it.each<[string, () => unknown]>([
    [
      'refuses',
      () => {
        throw new RpcError('out of gas');
      },
    ],
    ['answers nothing', () => '0x'],
    ['answers null', () => null],
    ['answers more than a word', () => `${THREE}00`],
    ['answers what is not hex', () => `0x${'g'.repeat(64)}`],
    ['answers megabytes', () => `0x${'0'.repeat(4 * 1_024 * 1_024)}`],
  ])('asks the next endpoint where one %s', async (_, lie) => {
    wrong.lie = (method, truth) => (method === 'eth_call' ? lie() : truth);
    expect(await runnerOf(wrong, right).run('0x', GAS)).toBe(3n);
    await expect(runnerOf(wrong).run('0x', GAS)).rejects.toThrow(ChainUnavailable);
  });

  it('asks the next endpoint where one serves another chain or does not answer in time', async () => {
    wrong.lie = (method, truth) => (method === 'eth_chainId' ? '0x1' : truth);
    expect(await runnerOf(wrong, right).run('0x', GAS)).toBe(3n);
    wrong.lie = (_, truth) => truth;
    wrong.respond = () => undefined;
    expect(await runnerOf(wrong, right).run('0x', GAS)).toBe(3n);
  });

  it('ends when it is closed', async () => {
    wrong.respond = () => undefined;
    const runner = runnerOf(wrong);
    const running = runner.run('0x', GAS);
    runner.close();
    await expect(running).rejects.toThrow(ChainUnavailable);
  });
});
