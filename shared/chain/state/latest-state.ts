import type { BundleReceipt } from '../../../schemas/http/onchain/operation-receipt.ts';
import type { RpcCall } from '../client/answer-limits.ts';
import { checkHeader } from '../client/answers/checked-answers.ts';
import { checkBundleReceipt } from '../client/answers/checked-receipt.ts';
import { checkAmount, checkBytes, checkWord } from '../client/answers/checked-values.ts';
import type { ChainClient } from '../client/chain-client.ts';
import { LATEST, requireBlock } from '../client/header-requests.ts';

/** Address at which code runs that is to be called. It has no code of its own ("annals.dev" in ASCII, then zeros). */
const RUN_AT = '0x616e6e616c732e64657600000000000000000000';

/** The newest state of one EVM chain, from its JSON-RPC endpoints. Each method throws ChainUnavailable. */
export class LatestState {
  constructor(
    private readonly client: ChainClient,
    /** How long each request may take. */
    private readonly withinMs: number,
  ) {}

  /**
   * Runs code by `eth_call` without `to`, as a contract's creation code. Changes nothing on the chain.
   * @param code `0x` hex, at most 49,152 bytes (EIP-3860)
   * @param input `0x` hex: if given, a state override places the code at an address, which is called with the input;
   * the code may then be longer
   * @returns the word that the code returned; code must not revert or run out of gas
   */
  run(code: string, gas: number, input?: string): Promise<bigint> {
    const limit = `0x${gas.toString(16)}`;
    const params =
      input === undefined
        ? [{ data: code, gas: limit }, 'latest']
        : [{ to: RUN_AT, data: input, gas: limit }, 'latest', { [RUN_AT]: { code } }];
    return this.ask('a call', [{ method: 'eth_call', params }], ([answer]) =>
      checkWord(answer, 'the result of a call'),
    );
  }

  /** `eth_call` of a contract, with `data` in `0x` hex. Returns the result as `0x` hex. */
  call(to: string, data: string): Promise<string> {
    const params = [{ to, data }, 'latest'];
    return this.ask('a call', [{ method: 'eth_call', params }], ([answer]) =>
      checkBytes(answer, 'the result of a call'),
    );
  }

  /** Returns the balance of an address and whether it has code. */
  account(address: string): Promise<{ wei: bigint; hasCode: boolean }> {
    const params = [address, 'latest'];
    const calls: RpcCall[] = [
      { method: 'eth_getBalance', params },
      { method: 'eth_getCode', params },
    ];
    return this.ask('an account', calls, ([wei, code]) => ({
      wei: checkAmount(wei, 'the balance'),
      hasCode: checkBytes(code, 'the code') !== '0x',
    }));
  }

  /** Returns the number of the newest block: `eth_getBlockByNumber latest`. */
  headBlock(): Promise<number> {
    return this.ask('the head', [LATEST], ([answer]) => requireBlock(checkHeader(answer)).number);
  }

  /**
   * `eth_getTransactionReceipt`, with addresses in EIP-55 form. Returns `undefined` for a transaction that is in no
   * block.
   */
  receipt(transactionHash: string): Promise<BundleReceipt | undefined> {
    const calls: RpcCall[] = [{ method: 'eth_getTransactionReceipt', params: [transactionHash] }];
    return this.ask('a receipt', calls, ([answer]) => checkBundleReceipt(answer, transactionHash));
  }

  private ask<Checked>(
    what: string,
    calls: readonly RpcCall[],
    check: (results: unknown[]) => Checked,
  ): Promise<Checked> {
    return this.client.call(what, calls, check, this.withinMs);
  }
}

/** The newest state of each chain of the settings, by chain id. */
export type LatestStates = ReadonlyMap<number, LatestState>;
