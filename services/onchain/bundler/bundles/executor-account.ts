import type { ExecutorEvent } from '../../../../schemas/events/onchain/executor-events.ts';
import { signDigest } from '../../../../shared/keys/signatures/sign-digest.ts';
import {
  signedTransaction,
  transactionDigest,
  transactionHash,
  type BundleTransaction,
} from '../domain/bundle-transaction.ts';
import { initialDelivery, type Delivery } from '../domain/delivery.ts';
import { executorFold, replaceBundler, type Bundle, type Executor, type SignedBundle } from '../domain/executor.ts';
import { encodeHandleOps } from '../../operations/domain/operation-encoding.ts';
import type { BundlerStreams } from '../mempool/bundler-streams.ts';
import type { UserOperation } from '../../operations/domain/user-operation.ts';

export interface ExecutorKey {
  /** With the checksum of EIP-55. */
  address: string;
  privateKey: Uint8Array;
}

/** The nonce, gas limit and fees of a bundle. */
export interface BundleTerms {
  nonce: number;
  gasLimit: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  /** Whether the bundle is a legacy transaction, as for a chain without a base fee. Both fees are equal then. */
  isLegacy: boolean;
}

/**
 * An account of the operator that sends bundles to the EntryPoint, which refunds their gas to the account. Only this
 * class changes the state of the account.
 */
export class ExecutorAccount {
  private stored: Executor = executorFold.initial;
  private current = initialDelivery;
  /** The epoch that this process started, to sign bundles. `stored.epoch` is higher once a later process took over. */
  private epoch = 0;
  /** The account's balance when it was last read. */
  wei = 0n;

  constructor(
    private readonly chainId: number,
    private readonly entryPoint: string,
    readonly key: ExecutorKey,
  ) {}

  get state(): Executor {
    return this.stored;
  }

  get delivery(): Delivery {
    return this.current;
  }

  /** Starts a new epoch, in which only this process can sign bundles of this executor. */
  async startEpoch(streams: Pick<BundlerStreams, 'executor'>): Promise<void> {
    await this.record(streams, (state) => replaceBundler(state, { chainId: this.chainId, executor: this.address }));
    this.epoch = this.stored.epoch;
  }

  /** Appends the events that `decide` returns, and keeps the executor's new state. @throws BundlerWasReplaced */
  async record(
    streams: Pick<BundlerStreams, 'executor'>,
    decide: (state: Executor, epoch: number) => readonly ExecutorEvent[],
  ): Promise<void> {
    this.stored = await streams.executor(this.address, (state) => decide(state, this.epoch));
  }

  /** Changes the delivery state of the pending bundle by a function of `delivery.ts`. */
  updateDelivery(transition: (delivery: Delivery) => Delivery): void {
    this.current = transition(this.current);
  }

  get address(): string {
    return this.key.address;
  }

  /** Of the bundles that no block includes, the bundle with the lowest nonce; `undefined` if there is none. */
  get pending(): Bundle | undefined {
    return this.state.bundles.find(({ mined }) => !mined);
  }

  /** The transaction hash of the pending bundle's newest version; an empty array if no bundle is pending. */
  get pendingHash(): readonly string[] {
    return this.pending?.versions.slice(-1).map(({ transactionHash }) => transactionHash) ?? [];
  }

  /** Returns the nonces of the pending bundles that contain an operation; after a reorganisation, maybe several. */
  pendingNoncesWith(id: string): number[] {
    return this.state.bundles
      .filter(({ mined, operations }) => !mined && operations.includes(id))
      .map(({ nonce }) => nonce);
  }

  /** Signs a bundle; without operations, an empty transaction to the executor itself, which only uses the nonce. */
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

export const termsOf = ({
  nonce,
  gasLimit,
  maxFeePerGas,
  maxPriorityFeePerGas,
  isLegacy = false,
}: SignedBundle): BundleTerms => ({
  nonce,
  gasLimit: BigInt(gasLimit),
  maxFeePerGas: BigInt(maxFeePerGas),
  maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas),
  isLegacy,
});
