import type { OperationInclusion, OperationsBlock, OperationsChain } from '../edge/operations-chain.ts';
import {
  drop,
  finalise,
  include,
  reorganise,
  replace,
  type Inclusion,
  type Transaction,
} from '../domain/transaction.ts';
import type { TransactionEvent } from '../../../schemas/events/transaction-events.ts';
import { nonceParts } from '../domain/user-operation.ts';
import type { ChainChange, WindowBlock } from './chain-window.ts';
import type { OperationPool, PooledOperation } from './operation-pool.ts';
import type { Records } from './records.ts';
import type { Replacements } from './replacements.ts';

export type IsInChain = (block: { hash: string; number: number }) => Promise<boolean>;

/** What sponsors have reserved for operations of this chain, and what they paid. Every step may be repeated. */
export interface Settlements {
  included: (inclusion: OperationInclusion) => Promise<void>;
  /** The block of this operation left the chain. */
  left: (inclusion: OperationInclusion) => Promise<void>;
  /** Blocks that were recorded may have left the chain while nobody looked. */
  undoWhatLeft: (isInChain: IsInChain) => Promise<void>;
  /** This block, and what it has, is final. */
  final: (block: OperationsBlock, inclusions: readonly OperationInclusion[]) => Promise<void>;
}

/** Of one request for logs. */
const BLOCKS_AT_ONCE = 1_000;

interface ObservationsOptions {
  pool: OperationPool;
  records: Records;
  settlements: Settlements;
  replacements: Replacements;
  chain: Pick<OperationsChain, 'sequences' | 'inclusions'>;
  /** Blocks behind the head that count as final. */
  confirmations: number;
  /** Adds to a block that is not final what a node left out of it. @returns whether the block is watched */
  watch: (inclusion: OperationInclusion) => boolean;
}

/** Records what the blocks of a chain say of operations. */
export class Observations {
  private readonly pool: OperationPool;
  private readonly records: Records;
  private readonly settlements: Settlements;
  private readonly replacements: Replacements;
  private readonly chain: Pick<OperationsChain, 'sequences' | 'inclusions'>;
  private readonly confirmations: number;
  private readonly watch: (inclusion: OperationInclusion) => boolean;

  constructor(options: ObservationsOptions) {
    const { pool, records, settlements, replacements, chain, confirmations, watch } = options;
    this.pool = pool;
    this.records = records;
    this.settlements = settlements;
    this.replacements = replacements;
    this.chain = chain;
    this.confirmations = confirmations;
    this.watch = watch;
  }

  async record({ left, joined }: Pick<ChainChange, 'left' | 'joined'>): Promise<void> {
    for (const block of left) await each(block.inclusions, (inclusion) => this.undo(inclusion));
    for (const block of joined) await each(block.inclusions, (inclusion) => this.apply(inclusion));
  }

  /** Records that blocks are final, and what can never be included any more. */
  async finalise(blocks: readonly WindowBlock[]): Promise<void> {
    for (const block of blocks) {
      await each(block.inclusions, (inclusion) => this.finaliseNonce(inclusion));
      await this.settlements.final(block, block.inclusions);
    }
    const newest = blocks.at(-1);
    if (newest) await this.dropExpired(newest);
  }

  /** A block that was recorded is not in the chain: it left while nobody looked. */
  async leave(one: PooledOperation, blockHash: string): Promise<void> {
    await this.change(one, (transaction) => reorganise(transaction, blockHash));
  }

  private async apply(inclusion: OperationInclusion): Promise<void> {
    const { sender, nonce, userOpHash, blockHash } = inclusion;
    for (const one of this.pool.ofNonce(sender, nonce)) {
      await this.change(one, (transaction) =>
        one.userOpHash === userOpHash
          ? include(transaction, inclusionOf(inclusion))
          : replace(transaction, { replacedBy: userOpHash, blockHash }),
      );
    }
    await this.settlements.included(inclusion);
  }

  private async undo(inclusion: OperationInclusion): Promise<void> {
    for (const one of this.pool.ofNonce(inclusion.sender, inclusion.nonce)) await this.leave(one, inclusion.blockHash);
    await this.settlements.left(inclusion);
  }

  /**
   * Reads again what blocks say of an operation whose nonce is used: a node may have left it out, or the block was recorded
   * before the operation was known here.
   * @param where without `from`, wherever it may be
   */
  async lookAgain(
    { operation }: PooledOperation,
    { from: known, upTo, final }: { from?: number; upTo: number; final: number },
  ): Promise<void> {
    const { sender, nonce } = operation;
    const signedAt = this.pool.ofNonce(sender, nonce).map(({ transaction }) => transaction.submission.headBlock);
    // A reorganisation may have put it in a block that is earlier than where it was signed.
    const first = known ?? Math.max(0, Math.min(upTo, ...signedAt) - this.confirmations);
    for (let from = first; from <= upTo; from += BLOCKS_AT_ONCE) {
      const found = await this.chain.inclusions(from, Math.min(upTo, from + BLOCKS_AT_ONCE - 1));
      const one = found.find((inclusion) => inclusion.sender === sender && inclusion.nonce === nonce);
      if (!one) continue;
      // Of a block that is not watched nobody would be told that it left the chain.
      if (one.blockNumber > final && !this.watch(one)) return;
      await this.apply(one);
      if (one.blockNumber <= final) await this.finaliseNonce(one);
      return;
    }
  }

  private async finaliseNonce({ sender, nonce }: OperationInclusion): Promise<void> {
    for (const one of this.pool.ofNonce(sender, nonce)) await this.change(one, finalise);
  }

  /** A block's time is final that is later than what the paymaster signed for: no block can have it any more. */
  private async dropExpired({ number, timestamp }: OperationsBlock): Promise<void> {
    const expired = [...this.pool.all()].filter(({ id, transaction: { status, submission } }) => {
      const { validUntil } = submission;
      // What was signed anew is replaced, or dropped after what it was replaced by.
      if (status !== 'submitted' || this.pool.isSuperseded(id)) return false;
      return validUntil !== null && Date.parse(validUntil) < timestamp * 1_000;
    });
    if (expired.length === 0) return;
    const lines = expired.map(({ operation }) => ({ sender: operation.sender, ...nonceParts(operation.nonce) }));
    const next = await this.chain.sequences(lines);
    await each([...expired.entries()], async ([at, one]) => {
      const isUsed = (next[at] ?? 0n) > (lines[at]?.sequence ?? 0n);
      if (isUsed) await this.lookAgain(one, { upTo: number, final: number });
      else await this.end(one);
    });
  }

  /** What may have another one behind it, which could never be included without it, is signed anew. */
  private async end(one: PooledOperation): Promise<void> {
    if (this.mayBeFollowed(one)) {
      const outcome = await this.replacements.signAnew(one, { deploys: one.operation.factory !== undefined });
      if (outcome !== 'never') return;
    }
    await this.change(one, (transaction) => drop(transaction, "the paymaster's signature has expired"));
  }

  /** Whether a block had its nonce: then the next of its key may have been given away. */
  private mayBeFollowed({ transaction: { wasInBlock, submission } }: PooledOperation): boolean {
    const replaced = submission.replaces === null ? undefined : this.pool.get(submission.replaces);
    return wasInBlock || (replaced !== undefined && this.mayBeFollowed(replaced));
  }

  private async change(
    one: PooledOperation,
    decide: (transaction: Transaction | undefined) => TransactionEvent[],
  ): Promise<void> {
    this.pool.put(one.id, await this.records.transaction(one.id, decide));
  }
}

const inclusionOf = (inclusion: OperationInclusion): Inclusion => ({
  success: inclusion.success,
  transactionHash: inclusion.transactionHash,
  blockNumber: inclusion.blockNumber,
  blockHash: inclusion.blockHash,
  logIndex: inclusion.logIndex,
  actualGasCostWei: String(inclusion.actualGasCost),
  actualGasUsed: String(inclusion.actualGasUsed),
  deployed: inclusion.deployed,
  reason: inclusion.revertReason ?? null,
});

const each = async <One>(all: readonly One[], work: (one: One) => Promise<void>): Promise<void> => {
  await Promise.all(all.map(work));
};
