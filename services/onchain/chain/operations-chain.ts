import type { ForkRules } from '../operations/domain/fork-rules.ts';
import type { UserOperation } from '../operations/domain/user-operation.ts';
import type { DataFee } from './data-fees.ts';

/** The members of a block that operations need. */
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
  /** EIP-55; the zero address if the operation has no paymaster. */
  paymaster: string;
  success: boolean;
  actualGasCost: bigint;
  actualGasUsed: bigint;
  /** Whether an AccountDeployed event of this operation is in the same transaction. */
  deployed: boolean;
  /** The bytes with which the call reverted (UserOperationRevertReason); `undefined` if there is no such event. */
  revertReason: string | undefined;
  blockNumber: number;
  blockHash: string;
  transactionHash: string;
  logIndex: number;
}

/** The times between which a signature is valid, in Unix seconds; `until` 0 means for ever. */
export interface ValidationData {
  failed: boolean;
  after: number;
  until: number;
}

/** `refused`: validation failed with a reason of the EntryPoint (`AA…`, empty if the EntryPoint gives no reason). */
export type Simulation =
  | {
      kind: 'valid';
      /** The gas of the validation, including `preVerificationGas`. */
      preOpGas: bigint;
      /** What the operation pays: the gas used times its price. */
      paid: bigint;
      account: ValidationData;
      paymaster: ValidationData;
      /** The result of `target`; success if no target was given. */
      targetSuccess: boolean;
      targetResult: string;
    }
  | { kind: 'refused'; reason: string; revertData: string };

export interface SimulationRequest {
  operation: UserOperation;
  /** The contract that the EntryPoint calls after the operation. */
  target?: { address: string; data: string };
  /** An account that the simulation treats as if its owner had deployed it. */
  asDeployed?: { address: string; owner: string };
  /** A further state override set of `eth_call`, as the caller gave it. */
  stateOverride?: Readonly<Record<string, unknown>>;
}

/** The result of `handleOps`: its gas without the transaction's own, or the first operation at fault. */
export type BundleTrial =
  | { kind: 'ok'; gasUsed: bigint }
  | { kind: 'failed'; index: number; reason: string; revertData: string }
  /** No operation is named: the bundle may have run out of gas, or an account may have no code. */
  | { kind: 'reverted'; revertData: string };

/** The node's reaction to a transaction. `known`: the node has it, now or from before. */
export type SendOutcome =
  | 'known'
  | 'nonce-too-low'
  /** The node has another transaction of this nonce, and this one does not pay a tenth more. */
  | 'underpriced'
  /** The node takes no transaction that pays so little, whatever its nonce. */
  | 'pays-too-little'
  | 'insufficient-funds'
  | 'refused';

/** Wei per gas, above the base fee. */
export interface Tips {
  /** What a sender offers: the larger of the node's suggestion, what recent blocks were paid, and `least`. */
  asked: bigint;
  /** The lowest tip that the nodes take, if one named a minimum in the last hour, else 0. */
  least: bigint;
}

export interface SendAnswer {
  outcome: SendOutcome;
  /** The node's message in one line; empty if the node took the transaction. */
  words: string;
  /** Whether another endpoint was asked before and did not answer: that endpoint may have taken the transaction. */
  isElsewhere?: boolean;
}

export interface AccountState {
  wei: bigint;
  hasCode: boolean;
  /** The balance in the EntryPoint. */
  depositWei: bigint;
}

export interface TransactionReceipt {
  transactionHash: string;
  blockHash: string;
  blockNumber: number;
  success: boolean;
}

/**
 * The current state of a chain with an EntryPoint. Every method throws ChainUnavailable, immediately if the client is closed
 * meanwhile. A node may answer with an old state, or with one that never gets into a block: callers decide by blocks.
 */
export interface OperationsChain {
  readonly chainId: number;
  readonly entryPoint: string;
  /** `eth_getBlockByNumber latest` */
  head(): Promise<OperationsBlock>;
  /** `eth_getBlockByNumber`, in the order of the numbers; `undefined` for a block that does not exist. */
  blocks(numbers: readonly number[]): Promise<(OperationsBlock | undefined)[]>;
  /** `eth_getLogs` of blocks `from`…`to`, inclusive, in chain order. */
  inclusions(from: number, to: number): Promise<OperationInclusion[]>;
  /**
   * `eth_maxPriorityFeePerGas`, the median tip of the newest blocks with transactions (`eth_feeHistory`), and the minimum that a
   * node named when it refused a transaction. A node may lack either method.
   */
  tips(): Promise<Tips>;
  /** The rules of the chain's fork, which the node shows by what it charges and executes. */
  forkRules(): Promise<ForkRules>;
  /**
   * `eth_call` of a rollup's oracle: the fee that a transaction to the EntryPoint with this data pays to the layer below. On a
   * chain that is not a rollup, the fee is 0 and nothing is asked.
   */
  dataFee(data: string): Promise<DataFee>;
  /** `eth_getBalance`, `eth_getCode` and the EntryPoint's `balanceOf`, in the order of the addresses. */
  accounts(addresses: readonly string[]): Promise<AccountState[]>;
  /**
   * `eth_getCode` and `eth_getStorageAt` of the slot of ERC-1967: the code that each account runs, in EIP-55 form. `undefined`
   * if the account is not a proxy of our factory: any other contract may have our implementation in its slot.
   */
  implementations(addresses: readonly string[]): Promise<(string | undefined)[]>;
  /** `getNonce` of the EntryPoint for each key: the next sequence. */
  sequences(keys: readonly { sender: string; key: bigint }[]): Promise<bigint[]>;
  /** Runs `simulateHandleOp` for each, in one request, in this order. Signatures need not be valid. */
  simulate(requests: readonly SimulationRequest[]): Promise<Simulation[]>;
  /** Runs `handleOps` of the whole bundle by `eth_call`, and measures its gas. */
  tryBundle(operations: readonly UserOperation[], beneficiary: string): Promise<BundleTrial>;
  /** `eth_sendRawTransaction` */
  send(rawTransaction: string): Promise<SendAnswer>;
  /**
   * `eth_getTransactionCount` after a block: the next nonce. For the newest block a node may answer with an old count, or
   * count transactions that are not in a block.
   */
  transactionCount(address: string, blockNumber: number): Promise<number>;
  /** `eth_getTransactionReceipt`, in the order of the hashes; `undefined` if no block has the transaction. */
  receipts(hashes: readonly string[]): Promise<(TransactionReceipt | undefined)[]>;
}
