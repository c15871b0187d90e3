import { TRANSACTION_DATA_BYTES_MAX } from '../domain/fork-rules.ts';
import { bytesInBundle } from '../domain/operation-encoding.ts';
import { operationOf, TAKEN_OUT, type Transaction } from '../domain/transaction.ts';
import { nonceParts, type UserOperation } from '../domain/user-operation.ts';

/** A transaction that is not final, and what is done for it. */
export interface PooledOperation {
  readonly id: string;
  readonly operation: UserOperation;
  readonly userOpHash: string;
  /** The bundle that has it, as long as its nonce is not used: no other may. */
  bundle: { executor: string; nonce: number } | undefined;
  transaction: Transaction;
  /** The most operations that a bundle with it may have: fewer once one was reverted. */
  bundleMax: number;
  /** Whether somebody else has its key, who may do with its account what he likes: it shares no bundle. */
  readonly isForeign: boolean;
  /** In the data of a bundle. */
  readonly bytes: number;
  /** When it is tried again, by the monotonic clock; it is not before. */
  waitsUntil: number;
  /** How often in a row it was refused. */
  refusals: number;
}

/** What is looked for. */
interface Choice {
  /** By the monotonic clock. */
  nowMs: number;
  /** Of the newest block. */
  baseFee: bigint;
  max: number;
  takesForeign: boolean;
}

/** What a bundle has around its operations. */
const AROUND_BYTES = 256;
const BUNDLE_BYTES_MAX = TRANSACTION_DATA_BYTES_MAX - AROUND_BYTES;

const nonceKey = (sender: string, nonce: bigint): string => `${sender}:${String(nonce)}`;

/** The operations of a chain of which something can still become. */
export class OperationPool {
  private readonly byId = new Map<string, PooledOperation>();
  private readonly byHash = new Map<string, PooledOperation>();
  private readonly byNonce = new Map<string, Set<PooledOperation>>();
  /** Those that deploy their account. */
  private readonly deploying = new Map<string, Set<PooledOperation>>();
  private readonly superseded = new Set<string>();

  /** @param leavesOut whether operations are not bundled that `debug_bundler_clearState` took out */
  constructor(private readonly leavesOut = false) {}

  get size(): number {
    return this.byId.size;
  }

  all(): IterableIterator<PooledOperation> {
    return this.byId.values();
  }

  get(id: string): PooledOperation | undefined {
    return this.byId.get(id);
  }

  ofHash(userOpHash: string): PooledOperation | undefined {
    return this.byHash.get(userOpHash);
  }

  ofNonce(sender: string, nonce: bigint): readonly PooledOperation[] {
    return [...(this.byNonce.get(nonceKey(sender, nonce)) ?? [])];
  }

  /** Adds a transaction, or takes over what became of one. One that is final goes. */
  put(id: string, transaction: Transaction): void {
    const known = this.byId.get(id);
    if (transaction.isFinal) {
      if (known) this.remove(known);
    } else if (known) known.transaction = transaction;
    else this.add(id, transaction);
  }

  /**
   * Returns operations that one bundle may have, in the order in which the EntryPoint is to be given them: those that deploy an
   * account, or have an earlier nonce of a key, before what needs them.
   */
  next({ nowMs, baseFee, max, takesForeign }: Choice): PooledOperation[] {
    const chosen = new Set<PooledOperation>();
    let limit = max;
    let bytes = 0;
    for (const one of this.byId.values()) {
      if (chosen.size >= limit) break;
      if (!this.isWaiting(one) || (one.isForeign && !takesForeign)) continue;
      const together = one.isForeign ? 1 : one.bundleMax;
      if (one.waitsUntil > nowMs || one.operation.maxFeePerGas < baseFee || together <= chosen.size) continue;
      if (!this.needs(one).every((other) => chosen.has(other))) continue;
      if (bytes + one.bytes > BUNDLE_BYTES_MAX && chosen.size > 0) continue;
      bytes += one.bytes;
      chosen.add(one);
      limit = Math.min(limit, together);
    }
    return [...chosen];
  }

  /** Whether another operation takes its place. */
  isSuperseded(id: string): boolean {
    return this.superseded.has(id);
  }

  /** Whether it is to be bundled: no block has it, no bundle, and no other operation takes its place. */
  private isWaiting(one: PooledOperation): boolean {
    const { sender, nonce } = one.operation;
    if (!this.isSubmitted(one) || (this.leavesOut && one.transaction.delayedBy === TAKEN_OUT)) return false;
    // What it takes the place of may be under way: a block that had both bundles would revert one.
    return this.ofNonce(sender, nonce).every(({ bundle }) => !bundle);
  }

  /** Returns what has to be included before it, and is not yet. */
  private needs(one: PooledOperation): PooledOperation[] {
    const { sender, factory } = one.operation;
    const deploying = factory ? [] : [...(this.deploying.get(sender) ?? [])];
    // Since a reorganisation, what deploys the account may itself come after others, even after this one: they are tried first.
    const first = deploying.filter((other) => this.isSubmitted(other) && this.earlierThan(other).length === 0);
    return [...this.earlierThan(one), ...first];
  }

  private earlierThan({ operation: { sender, nonce } }: PooledOperation): PooledOperation[] {
    const { sequence } = nonceParts(nonce);
    return sequence > 0n ? this.ofNonce(sender, nonce - 1n).filter((other) => this.isSubmitted(other)) : [];
  }

  private isSubmitted({ id, transaction }: PooledOperation): boolean {
    return transaction.status === 'submitted' && !this.superseded.has(id);
  }

  private add(id: string, transaction: Transaction): void {
    const { userOpHash, replaces } = transaction.submission;
    const operation = operationOf(transaction);
    const one: PooledOperation = {
      id,
      operation,
      userOpHash,
      bundle: undefined,
      transaction,
      bundleMax: Number.POSITIVE_INFINITY,
      isForeign: transaction.submission.userId === null,
      bytes: bytesInBundle(operation),
      waitsUntil: 0,
      refusals: 0,
    };
    this.byId.set(id, one);
    this.byHash.set(userOpHash, one);
    index(this.byNonce, nonceKey(operation.sender, operation.nonce), one);
    if (operation.factory) index(this.deploying, operation.sender, one);
    if (replaces !== null) this.superseded.add(replaces);
  }

  private remove(one: PooledOperation): void {
    const { sender, nonce } = one.operation;
    this.byId.delete(one.id);
    this.byHash.delete(one.userOpHash);
    this.superseded.delete(one.id);
    const { replaces } = one.transaction.submission;
    if (replaces !== null) this.superseded.delete(replaces);
    unindex(this.byNonce, nonceKey(sender, nonce), one);
    unindex(this.deploying, sender, one);
  }
}

const index = (map: Map<string, Set<PooledOperation>>, key: string, one: PooledOperation): void => {
  const known = map.get(key);
  if (known) known.add(one);
  else map.set(key, new Set([one]));
};

const unindex = (map: Map<string, Set<PooledOperation>>, key: string, one: PooledOperation): void => {
  const known = map.get(key);
  known?.delete(one);
  if (known?.size === 0) map.delete(key);
};
