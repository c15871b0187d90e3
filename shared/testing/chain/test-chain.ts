/** More than the transactions of the services offer, so that a transaction with this tip comes first in its block. */
export const FIRST_TIP_WEI = 50n * 10n ** 9n;

/** A transaction of an account that has plenty of ether. Amounts are in wei. */
export interface FundedTransaction {
  to: string;
  data?: string;
  value?: bigint;
  /** Default: enough for any call of a test. */
  gas?: bigint;
  /** Default: `FIRST_TIP_WEI`. */
  maxPriorityFeePerGas?: bigint;
}

/** A chain on which a test decides when blocks are mined: anvil, or a real geth. */
export interface TestChain {
  readonly chainId: number;
  readonly rpcUrl: string;
  /** Calls any JSON-RPC method. */
  call(method: string, ...params: readonly unknown[]): Promise<unknown>;
  /** Chooses whether each transaction is mined by itself. Initially it is. */
  setAutomine(isOn: boolean): Promise<void>;
  /** Mines blocks; the first has the pending transactions. */
  mineBlocks(count: number): Promise<void>;
  /** Mines blocks without the pending transactions. anvil forgets them; geth keeps them for a later block. */
  mineWithoutPending(count: number): Promise<void>;
  /** How many transactions of the mempool could be in the next block. */
  pendingTransactions(): Promise<number>;
  /** Puts the clock of the chain forward. */
  increaseTime(seconds: number): Promise<void>;
  /** Reverts the newest blocks. Blocks mined afterwards have other hashes. */
  rollBack(depth: number): Promise<void>;
  /** Returns what `revertTo` needs to remove all later blocks. */
  snapshot(): Promise<string>;
  revertTo(snapshot: string): Promise<void>;
  /** Gives an address exactly this balance. A balance on geth can only be raised. */
  setBalance(address: string, wei: bigint): Promise<void>;
  /** Puts this code at a new address, and returns the address in EIP-55 form. */
  deploy(code: string): Promise<string>;
  /** Sends a transaction to the mempool. Returns the hash. */
  send(transaction: FundedTransaction): Promise<string>;
  stop(): Promise<void>;
}
