import type { ForkRules } from '../domain/fork-rules.ts';
import type { UserOperation } from '../domain/user-operation.ts';
import type { DataFee } from './data-fees.ts';

/** A block, as far as it is used here. */
export interface OperationsBlock {
  number: number;
  /** Lower case. */
  hash: string;
  parentHash: string;
  /** Unix seconds. */
  timestamp: number;
  baseFeePerGas: bigint;
  gasLimit: bigint;
}

/** A UserOperationEvent of the EntryPoint. */
export interface OperationInclusion {
  userOpHash: string;
  /** EIP-55. */
  sender: string;
  nonce: bigint;
  /** EIP-55; the zero address without one. */
  paymaster: string;
  success: boolean;
  actualGasCost: bigint;
  actualGasUsed: bigint;
  /** Whether an AccountDeployed event of this operation is in the same transaction. */
  deployed: boolean;
  /** The bytes with which the call reverted, of its UserOperationRevertReason event; `undefined` without one. */
  revertReason: string | undefined;
  blockNumber: number;
  blockHash: string;
  transactionHash: string;
  logIndex: number;
}

/** From when until when a signature counts, in Unix seconds; `until` 0: for ever. */
export interface ValidationData {
  failed: boolean;
  after: number;
  until: number;
}

/** `refused`: validation failed with a reason of the EntryPoint (`AA…`, empty where it gives none). */
export type Simulation =
  | {
      kind: 'valid';
      /** Of validation, with `preVerificationGas`. */
      preOpGas: bigint;
      /** What it pays: gas used times its price. */
      paid: bigint;
      account: ValidationData;
      paymaster: ValidationData;
      /** The result of `target`; `success` without one. */
      targetSuccess: boolean;
      targetResult: string;
    }
  | { kind: 'refused'; reason: string; revertData: string };

export interface SimulationRequest {
  operation: UserOperation;
  /** Called after the operation, by the EntryPoint. */
  target?: { address: string; data: string };
  /** An account that is to be as if its owner had deployed it. */
  asDeployed?: { address: string; owner: string };
  /** More of what `eth_call` takes as state override set, as the caller gave it. */
  stateOverride?: Readonly<Record<string, unknown>>;
}

/** What `handleOps` would do: its gas without the transaction's own, or the first operation at fault. */
export type BundleTrial =
  | { kind: 'ok'; gasUsed: bigint }
  | { kind: 'failed'; index: number; reason: string; revertData: string }
  /** It says not which one: perhaps it ran out of gas, perhaps an account has no code. */
  | { kind: 'reverted'; revertData: string };

/** What became of a transaction that was sent. `known` also where the same bytes were sent before. */
export type SendOutcome =
  | 'known'
  | 'nonce-too-low'
  /** Another transaction of this nonce is there, or it pays too little to be taken. */
  | 'underpriced'
  | 'insufficient-funds'
  | 'refused';

/** Wei a gas, above the base fee. */
export interface Tips {
  suggested: bigint;
  /** 0 where blocks have no transactions, or the node does not say. */
  paid: bigint;
}

/** Returns the most that anybody has a reason to pay. */
export const highestTip = ({ suggested, paid }: Tips): bigint => (paid > suggested ? paid : suggested);

export interface SendAnswer {
  outcome: SendOutcome;
  /** What the node said, in one line; empty where it took it. */
  words: string;
}

export interface AccountState {
  wei: bigint;
  hasCode: boolean;
  /** In the EntryPoint. */
  depositWei: bigint;
}

export interface TransactionReceipt {
  transactionHash: string;
  blockHash: string;
  blockNumber: number;
  success: boolean;
}

/**
 * A chain with an EntryPoint, as it is now. Every method throws ChainUnavailable, at once when it is closed meanwhile. A node
 * may say what was, or what will not be: callers decide by what stands in blocks.
 */
export interface OperationsChain {
  readonly chainId: number;
  readonly entryPoint: string;
  /** `eth_getBlockByNumber latest` */
  head(): Promise<OperationsBlock>;
  /** `eth_getBlockByNumber`, in the order asked for; `undefined` where there is none. */
  blocks(numbers: readonly number[]): Promise<(OperationsBlock | undefined)[]>;
  /** `eth_getLogs` of blocks `from`…`to`, inclusive, in chain order. */
  inclusions(from: number, to: number): Promise<OperationInclusion[]>;
  /** `eth_maxPriorityFeePerGas`, and the median of what the newest blocks with transactions were paid (`eth_feeHistory`). */
  tips(): Promise<Tips>;
  /** What its fork makes transactions pay and refuses, as the node shows by what it charges and executes. */
  forkRules(): Promise<ForkRules>;
  /**
   * `eth_call` of a rollup's oracle: what a transaction to the EntryPoint with this data pays for it to the layer below. Nothing
   * is asked, and nothing paid, on any other chain.
   */
  dataFee(data: string): Promise<DataFee>;
  /** In the order asked for. */
  accounts(addresses: readonly string[]): Promise<AccountState[]>;
  /**
   * `eth_getCode` and `eth_getStorageAt` of the slot of ERC-1967: what each account runs, in EIP-55 form. `undefined` where the
   * code is not that of our factory's proxies: anybody may write our implementation into the slot of another contract.
   */
  implementations(addresses: readonly string[]): Promise<(string | undefined)[]>;
  /** `getNonce` of the EntryPoint for each: the sequence that is next. */
  sequences(keys: readonly { sender: string; key: bigint }[]): Promise<bigint[]>;
  /** Runs `simulateHandleOp` for each, in one request. Signatures need not be valid. In the order asked for. */
  simulate(requests: readonly SimulationRequest[]): Promise<Simulation[]>;
  /** Runs `handleOps` of the whole bundle, and measures its gas. */
  tryBundle(operations: readonly UserOperation[], beneficiary: string): Promise<BundleTrial>;
  /** `eth_sendRawTransaction` */
  send(rawTransaction: string): Promise<SendAnswer>;
  /**
   * `eth_getTransactionCount` after a block: the nonce that is next. Of the newest block a node may answer what was, or count
   * what no block has.
   */
  transactionCount(address: string, blockNumber: number): Promise<number>;
  /** `eth_getTransactionReceipt`, for each of these; in the order asked for. */
  receipts(hashes: readonly string[]): Promise<(TransactionReceipt | undefined)[]>;
  close(): void;
}
