import { signDigest } from '../../../shared/keys/sign-digest.ts';
import {
  signedTransaction,
  transactionDigest,
  transactionHash,
  type BundleTransaction,
} from '../domain/bundle-transaction.ts';
import { executorFold, type Bundle, type Executor, type SignedBundle } from '../domain/executor.ts';
import { encodeHandleOps } from '../domain/operation-encoding.ts';
import type { UserOperation } from '../domain/user-operation.ts';

export interface ExecutorKey {
  /** EIP-55. */
  address: string;
  privateKey: Uint8Array;
}

/** How a bundle is sent, beside its operations. */
export interface BundleTerms {
  nonce: number;
  gasLimit: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** An account that sends bundles to the EntryPoint, and has what they refund. */
export class ExecutorAccount {
  /** As it is stored. */
  state: Executor = executorFold.initial;
  /** That of this process: whoever began later decides, although what is stored is known here too. */
  epoch = 0;
  /** At the head that was last looked at. */
  wei = 0n;
  /** When its bundle was last sent, by the monotonic clock. */
  sentAt = 0;
  /** Whether a block has come since then. */
  hasBlockSince = false;
  /** Blocks that have left its bundle out with the fees that it has now. */
  blocksLeftOut = 0;
  /** Whether a node has said that the nonce of its bundle was used. */
  isNonceUsed = false;
  /** Whether a node may have taken a version of its bundle: not while the first answer of a new one is awaited, or was no. */
  mayBeKnown = true;
  /** How many bundles in a row a node has refused. */
  refusals = 0;
  /** It signs no bundle before, by the monotonic clock. */
  waitsUntil = 0;
  /** How often since then a final block has used it, and no node had a receipt of the bundle. */
  missed = 0;

  constructor(
    private readonly chainId: number,
    private readonly entryPoint: string,
    readonly key: ExecutorKey,
  ) {}

  get address(): string {
    return this.key.address;
  }

  /** The bundle whose nonce is not used yet. */
  get underWay(): Bundle | undefined {
    return this.state.bundles.find(({ mined }) => !mined);
  }

  /** The nonces of the bundles under way that have an operation: since a reorganisation there may be several. */
  noncesOf(id: string): number[] {
    return this.state.bundles
      .filter(({ mined, operations }) => !mined && operations.includes(id))
      .map(({ nonce }) => nonce);
  }

  /** Without operations it is an empty transaction to itself, which uses the nonce. */
  sign(operations: readonly UserOperation[], terms: BundleTerms): { raw: string; hash: string } {
    const call =
      operations.length === 0
        ? { to: this.address, data: '0x' }
        : { to: this.entryPoint, data: encodeHandleOps(operations, this.address) };
    const transaction: BundleTransaction = { chainId: this.chainId, ...call, ...terms };
    const raw = signedTransaction(transaction, signDigest(this.key.privateKey, transactionDigest(transaction)));
    return { raw, hash: transactionHash(raw) };
  }
}

export const termsOf = ({ nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas }: SignedBundle): BundleTerms => ({
  nonce,
  gasLimit: BigInt(gasLimit),
  maxFeePerGas: BigInt(maxFeePerGas),
  maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas),
});
