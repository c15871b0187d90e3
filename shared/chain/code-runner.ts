/** Runs code on the newest state of one EVM chain, and changes nothing there. */
export interface CodeRunner {
  /**
   * `eth_call` without `to`: the code runs as that of a contract that is being created.
   * @param code `0x` hex
   * @returns the word that it returned; code that reverts or has too little gas is a fault of whoever wrote it
   * @throws ChainUnavailable
   */
  run(code: string, gas: number): Promise<bigint>;
  /** Also ends the calls in progress. */
  close(): void;
}
