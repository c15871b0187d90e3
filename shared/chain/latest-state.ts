import type { BundleReceipt } from '../../schemas/http/operation-receipt.ts';

/** The newest state of one EVM chain. */
export interface LatestState {
  /**
   * Runs code: `eth_call` without `to`, as that of a contract that is being created. Nothing is changed on the chain.
   * @param code `0x` hex, at most 49,152 bytes (EIP-3860)
   * @param input `0x` hex: with it the code is run as that of a contract that is there and is called with it, by a state
   * override; it may then be longer
   * @returns the word that it returned; code that reverts or has too little gas is a fault of whoever wrote it
   * @throws ChainUnavailable
   */
  run(code: string, gas: number, input?: string): Promise<bigint>;
  /** `eth_call` of a contract, with `data` in `0x` hex. Returns what it returned, `0x` hex. @throws ChainUnavailable */
  call(to: string, data: string): Promise<string>;
  /** Returns what is at an address. @throws ChainUnavailable */
  account(address: string): Promise<{ wei: bigint; hasCode: boolean }>;
  /** Returns the number of the newest block: `eth_getBlockByNumber latest`. @throws ChainUnavailable */
  headBlock(): Promise<number>;
  /**
   * `eth_getTransactionReceipt`, with addresses in EIP-55 form. Returns `undefined` of a transaction that is in no block.
   * @throws ChainUnavailable
   */
  receipt(transactionHash: string): Promise<BundleReceipt | undefined>;
  /** Also ends the calls in progress. */
  close(): void;
}
