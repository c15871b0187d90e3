import { TRANSACTION_DATA_BYTES_MAX } from '../../operations/domain/fork-rules.ts';
import { bytesInBundle } from '../../operations/domain/operation-encoding.ts';
import { operationOf, TAKEN_OUT, type Transaction } from '../../transactions/domain/transaction.ts';
import { nonceParts, type UserOperation } from '../../operations/domain/user-operation.ts';

/** An operation that is not final, and the state of its inclusion. */
export interface MempoolEntry {
  readonly id: string;
  readonly operation: UserOperation;
  readonly userOpHash: string;
  /**
   * The pending bundle with this operation, if any. No other bundle may include the operation until that bundle's nonce
   * is used.
   */
  readonly bundle: PendingBundle | undefined;
  readonly transaction: Transaction;
  /** Maximum number of operations in a bundle with this operation: half as many as in its last bundle that failed. */
  readonly bundleMax: number;
  /**
   * Whether a client signed the operation with its own key. The client can make it fail at any time, so the operation
   * is alone in its bundle.
   */
  readonly isForeign: boolean;
  /** Bytes of this operation in the data of a bundle. */
  readonly bytes: number;
  /** No new bundle includes the operation before this time of the monotonic clock, in milliseconds. */
  readonly waitsUntil: number;
  /** How often the operation failed in a trial or bundle, or was refused. Lengthens the next delay. */
  readonly refusals: number;
}

/** Identifies a bundle by its executor and nonce. */
export interface PendingBundle {
  executor: string;
  nonce: number;
}

type OwnEntry = { -readonly [Member in keyof MempoolEntry]: MempoolEntry[Member] };

/** The limits of the next bundle. */
interface Choice {
  /** The current time of the monotonic clock. */
  nowMs: number;
  /** Base fee of the newest block, in wei; operations that offer less are left out. */
  baseFee: bigint;
  /** Maximum number of operations in the bundle. */
  max: number;
  takesForeign: boolean;
}

/** Upper bound for the bytes in the data of a bundle besides its operations. */
const AROUND_BYTES = 256;
const BUNDLE_BYTES_MAX = TRANSACTION_DATA_BYTES_MAX - AROUND_BYTES;

const nonceKey = (sender: string, nonce: bigint): string => `${sender}:${String(nonce)}`;

/** The operations of a chain that are not final. */
export class Mempool {
  private readonly byId = new Map<string, OwnEntry>();
  private readonly byHash = new Map<string, MempoolEntry>();
  private readonly byNonce = new Map<string, Set<MempoolEntry>>();
  /** By sender: operations that deploy their account. */
  private readonly deploying = new Map<string, Set<MempoolEntry>>();
  /** Ids of operations that a newer operation in the mempool replaces, with the same nonce. */
  private readonly superseded = new Set<string>();

  /** @param leavesOut whether bundles leave out operations that `debug_bundler_clearState` removed from the mempool */
  constructor(private readonly leavesOut = false) {}

  get size(): number {
    return this.byId.size;
  }

  all(): IterableIterator<MempoolEntry> {
    return this.byId.values();
  }

  get(id: string): MempoolEntry | undefined {
    return this.byId.get(id);
  }

  getByHash(userOpHash: string): MempoolEntry | undefined {
    return this.byHash.get(userOpHash);
  }

  getByNonce(sender: string, nonce: bigint): readonly MempoolEntry[] {
    return [...(this.byNonce.get(nonceKey(sender, nonce)) ?? [])];
  }

  /** Sets the pending bundle that contains an operation; `undefined` if no bundle contains it. */
  setBundle(id: string, bundle: PendingBundle | undefined): void {
    this.change(id, { bundle });
  }

  /** Sets the maximum number of operations in later bundles that contain this operation. */
  limitBundle(id: string, bundleMax: number): void {
    this.change(id, { bundleMax });
  }

  /** Keeps an operation out of new bundles until a time of the monotonic clock. */
  hold(id: string, waitsUntil: number): void {
    this.change(id, { waitsUntil });
  }

  /** Keeps an operation out of new bundles until a time, as `hold` does, and counts a failed attempt. */
  backOff(id: string, waitsUntil: number): void {
    const refusals = (this.byId.get(id)?.refusals ?? 0) + 1;
    this.change(id, { waitsUntil, refusals });
  }

  private change(
    id: string,
    change: Partial<Pick<OwnEntry, 'bundle' | 'bundleMax' | 'waitsUntil' | 'refusals'>>,
  ): void {
    const entry = this.byId.get(id);
    if (entry) Object.assign(entry, change);
  }

  /** Adds the operation of a transaction, or updates its status; removes the operation once its status is final. */
  put(id: string, transaction: Transaction): void {
    const known = this.byId.get(id);
    if (transaction.isFinal) {
      if (known) this.remove(known);
    } else if (known) known.transaction = transaction;
    else this.add(id, transaction);
  }

  /**
   * Chooses the operations of the next bundle, in the order for `handleOps`: an operation that deploys an account, or
   * has an earlier nonce, comes before the operations that need it.
   */
  next({ nowMs, baseFee, max, takesForeign }: Choice): MempoolEntry[] {
    const chosen = new Set<MempoolEntry>();
    let limit = max;
    let bytes = 0;
    for (const entry of this.byId.values()) {
      if (chosen.size >= limit) break;
      if (!this.isWaiting(entry) || (entry.isForeign && !takesForeign)) continue;
      const together = entry.isForeign ? 1 : entry.bundleMax;
      if (entry.waitsUntil > nowMs || entry.operation.maxFeePerGas < baseFee || together <= chosen.size) continue;
      if (!this.needs(entry).every((other) => chosen.has(other))) continue;
      if (bytes + entry.bytes > BUNDLE_BYTES_MAX && chosen.size > 0) continue;
      bytes += entry.bytes;
      chosen.add(entry);
      limit = Math.min(limit, together);
    }
    return [...chosen];
  }

  /** Whether the mempool contains a replacement of this operation, which has the same nonce. */
  isSuperseded(id: string): boolean {
    return this.superseded.has(id);
  }

  /**
   * Whether a bundle may include the operation: neither a block nor a pending bundle has an operation with the same sender
   * and nonce, no newer operation has replaced it, and `debug_bundler_clearState` did not remove it.
   */
  private isWaiting(entry: MempoolEntry): boolean {
    const { sender, nonce } = entry.operation;
    if (!this.isSubmitted(entry) || (this.leavesOut && entry.transaction.delayedBy === TAKEN_OUT)) return false;
    // Another operation with this nonce may be in a pending bundle. If a block included both bundles, one bundle would
    // revert.
    return this.getByNonce(sender, nonce).every(({ bundle }) => !bundle);
  }

  /** Returns the operations that must come before this operation, in the same bundle or an earlier one. */
  private needs(entry: MempoolEntry): MempoolEntry[] {
    const { sender, factory } = entry.operation;
    const deploying = factory ? [] : [...(this.deploying.get(sender) ?? [])];
    // After a reorganisation, an operation that deploys the account may need earlier nonces itself, even the nonce of
    // this operation. This operation does not wait for a deploying operation that needs earlier nonces.
    const first = deploying.filter((other) => this.isSubmitted(other) && this.earlierThan(other).length === 0);
    return [...this.earlierThan(entry), ...first];
  }

  private earlierThan({ operation: { sender, nonce } }: MempoolEntry): MempoolEntry[] {
    const { sequence } = nonceParts(nonce);
    return sequence > 0n ? this.getByNonce(sender, nonce - 1n).filter((other) => this.isSubmitted(other)) : [];
  }

  private isSubmitted({ id, transaction }: MempoolEntry): boolean {
    return transaction.status === 'submitted' && !this.superseded.has(id);
  }

  private add(id: string, transaction: Transaction): void {
    const { userOpHash, replaces } = transaction.submission;
    const operation = operationOf(transaction);
    const entry: OwnEntry = {
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
    this.byId.set(id, entry);
    this.byHash.set(userOpHash, entry);
    index(this.byNonce, nonceKey(operation.sender, operation.nonce), entry);
    if (operation.factory) index(this.deploying, operation.sender, entry);
    if (replaces !== null) this.superseded.add(replaces);
  }

  private remove(entry: MempoolEntry): void {
    const { sender, nonce } = entry.operation;
    this.byId.delete(entry.id);
    this.byHash.delete(entry.userOpHash);
    this.superseded.delete(entry.id);
    const { replaces } = entry.transaction.submission;
    if (replaces !== null) this.superseded.delete(replaces);
    unindex(this.byNonce, nonceKey(sender, nonce), entry);
    unindex(this.deploying, sender, entry);
  }
}

const index = (map: Map<string, Set<MempoolEntry>>, key: string, entry: MempoolEntry): void => {
  const known = map.get(key);
  if (known) known.add(entry);
  else map.set(key, new Set([entry]));
};

const unindex = (map: Map<string, Set<MempoolEntry>>, key: string, entry: MempoolEntry): void => {
  const known = map.get(key);
  known?.delete(entry);
  if (known?.size === 0) map.delete(key);
};
