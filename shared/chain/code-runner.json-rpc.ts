import { InvalidAnswer } from './checked-answers.ts';
import type { CodeRunner } from './code-runner.ts';
import { JsonRpcEndpoints, type EndpointLimits } from './json-rpc-endpoints.ts';

const WORD = /^0x[0-9a-f]{64}$/;

/** Runs code at the JSON-RPC endpoints of a chain. */
export class JsonRpcCodeRunner implements CodeRunner {
  private readonly endpoints: JsonRpcEndpoints;

  constructor(chainId: number, urls: readonly string[], limits: EndpointLimits = {}) {
    this.endpoints = new JsonRpcEndpoints(chainId, urls, limits);
  }

  run(code: string, gas: number): Promise<bigint> {
    const params = [{ data: code, gas: `0x${gas.toString(16)}` }, 'latest'];
    return this.endpoints.ask('a call', async (endpoint) => {
      const [answer] = await endpoint.call([{ method: 'eth_call', params }]);
      if (typeof answer !== 'string' || !WORD.test(answer)) throw new InvalidAnswer('the result of a call is no word');
      return BigInt(answer);
    });
  }

  close(): void {
    this.endpoints.close();
  }
}
