import type { BundleReceipt } from '../../schemas/http/operation-receipt.ts';
import { checkHeader, InvalidAnswer } from './checked-answers.ts';
import { checkBundleReceipt } from './checked-receipt.ts';
import type { LatestState } from './latest-state.ts';
import { JsonRpcEndpoints, type EndpointLimits } from './json-rpc-endpoints.ts';

const WORD = /^0x[0-9a-f]{64}$/;
const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/;
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/;

/** Where code is run that is called: an address without code ("annals.dev" in ASCII, then zeros). */
const RUN_AT = '0x616e6e616c732e64657600000000000000000000';

/** Asks the JSON-RPC endpoints of a chain. */
export class JsonRpcLatestState implements LatestState {
  private readonly endpoints: JsonRpcEndpoints;

  constructor(chainId: number, urls: readonly string[], limits: EndpointLimits = {}) {
    this.endpoints = new JsonRpcEndpoints(chainId, urls, limits);
  }

  run(code: string, gas: number, input?: string): Promise<bigint> {
    const limit = `0x${gas.toString(16)}`;
    const params =
      input === undefined
        ? [{ data: code, gas: limit }, 'latest']
        : [{ to: RUN_AT, data: input, gas: limit }, 'latest', { [RUN_AT]: { code } }];
    return this.endpoints.ask('a call', async (endpoint) => {
      const [answer] = await endpoint.call([{ method: 'eth_call', params }]);
      if (typeof answer !== 'string' || !WORD.test(answer)) throw new InvalidAnswer('the result of a call is no word');
      return BigInt(answer);
    });
  }

  call(to: string, data: string): Promise<string> {
    return this.endpoints.ask('a call', async (endpoint) => {
      const [answer] = await endpoint.call([{ method: 'eth_call', params: [{ to, data }, 'latest'] }]);
      if (typeof answer !== 'string' || !BYTES.test(answer))
        throw new InvalidAnswer('the result of a call is no bytes');
      return answer;
    });
  }

  account(address: string): Promise<{ wei: bigint; hasCode: boolean }> {
    const params = [address, 'latest'];
    return this.endpoints.ask('an account', async (endpoint) => {
      const [wei, code] = await endpoint.call([
        { method: 'eth_getBalance', params },
        { method: 'eth_getCode', params },
      ]);
      if (typeof wei !== 'string' || !QUANTITY.test(wei)) throw new InvalidAnswer('the balance is no quantity');
      if (typeof code !== 'string' || !BYTES.test(code)) throw new InvalidAnswer('the code is no bytes');
      return { wei: BigInt(wei), hasCode: code !== '0x' };
    });
  }

  headBlock(): Promise<number> {
    return this.endpoints.ask('the head', async (endpoint) => {
      const [answer] = await endpoint.call([{ method: 'eth_getBlockByNumber', params: ['latest', false] }]);
      const head = checkHeader(answer);
      if (!head) throw new InvalidAnswer('there is no newest block');
      return head.number;
    });
  }

  receipt(transactionHash: string): Promise<BundleReceipt | undefined> {
    return this.endpoints.ask('a receipt', async (endpoint) => {
      const [answer] = await endpoint.call([{ method: 'eth_getTransactionReceipt', params: [transactionHash] }]);
      return checkBundleReceipt(answer, transactionHash);
    });
  }

  close(): void {
    this.endpoints.close();
  }
}
