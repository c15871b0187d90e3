import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { JsonRpcNode } from '../../../testing/chain/json-rpc-node.ts';
import { RpcError } from '../../../testing/chain/wire-forms.ts';
import { MemoryChain } from '../../../testing/chain/chain-reader.memory.ts';
import { JsonRpcEndpoint } from './json-rpc-endpoint.ts';

/** Longer than jest waits: no answer is late. */
const WITHIN_MS = 3_600_000;

const asked = (...data: readonly string[]) => data.map((one) => ({ method: 'eth_call' as const, params: [one] }));

describe('calls that may fail one by one', () => {
  let node: JsonRpcNode;
  let endpoint: JsonRpcEndpoint;
  const connect = () => new JsonRpcEndpoint(node.url, WITHIN_MS, new AbortController().signal);
  beforeAll(async () => {
    node = await JsonRpcNode.start(new MemoryChain(1));
  });
  beforeEach(() => {
    endpoint = connect();
    node.respond = undefined;
    node.requests = 0;
    node.lie = (_method, _truth, [data]) => {
      if (data === 'bad') throw new RpcError('execution reverted');
      return String(data).slice(0, 9);
    };
  });
  afterAll(() => node.stop());

  it('have each its result or its error, in their order', async () => {
    expect(await endpoint.tryCall(asked('one', 'bad', 'two'))).toEqual([
      { result: 'one' },
      { error: { code: -32_000, message: 'execution reverted', data: undefined } },
      { result: 'two' },
    ]);
    expect(await endpoint.tryCall(asked('bad'))).toMatchObject([{ error: { message: 'execution reverted' } }]);
    expect(node.requests).toBe(2);
    await expect(endpoint.call(asked('one', 'bad'))).rejects.toThrow('execution reverted');
  });

  it('keep what a node says besides', async () => {
    node.respond = (response, honest) => {
      const answer = JSON.parse(honest) as object;
      response.end(JSON.stringify({ ...answer, result: undefined, error: { code: 3, message: 'no', data: '0xab' } }));
    };
    expect(await endpoint.tryCall(asked('one'))).toEqual([{ error: { code: 3, message: 'no 0xab', data: '0xab' } }]);
  });

  it('fail together where the node refuses the request itself', async () => {
    node.respond = (response) => {
      response.end(
        JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_005, message: 'too many requests' } }),
      );
    };
    await expect(endpoint.tryCall(asked('one', 'two'))).rejects.toMatchObject({ why: { kind: 'rate-limited' } });
    node.respond = (response, honest) => {
      response.end(JSON.stringify((JSON.parse(honest) as object[]).slice(1)));
    };
    // The first endpoint pauses after the refusal.
    await expect(connect().tryCall(asked('one', 'two'))).rejects.toThrow('no answer to eth_call');
  });

  it('are asked in smaller batches where the node takes no large ones', async () => {
    node.respond = (response, honest) => {
      const answers = JSON.parse(honest) as { id: number } | { id: number }[];
      const isLarge = Array.isArray(answers) && answers.length > 2;
      const error = { code: -32_600, message: 'batch too large' };
      response.end(isLarge ? JSON.stringify(answers.map(({ id }) => ({ id, error }))) : honest);
    };
    const outcomes = await endpoint.tryCall(asked('one', 'bad', 'two', 'three', 'four'));
    expect(outcomes.map((outcome) => ('result' in outcome ? outcome.result : 'failed'))).toEqual([
      'one',
      'failed',
      'two',
      'three',
      'four',
    ]);
  });

  it('are asked in several requests where they are long', async () => {
    const long = 'f'.repeat(600_000);
    const outcomes = await endpoint.tryCall(asked(long, long, long, 'one'));
    expect(outcomes.map((outcome) => 'result' in outcome && outcome.result)).toEqual([
      'fffffffff',
      'fffffffff',
      'fffffffff',
      'one',
    ]);
    expect(node.requests).toBe(2);
    expect(await endpoint.tryCall(asked('e'.repeat(2_000_000)))).toHaveLength(1);
  });
});
