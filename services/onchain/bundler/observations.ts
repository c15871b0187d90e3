import type { OperationInclusion, OperationsBlock, OperationsChain } from '../chain/operations-chain.ts';
import {
  drop,
  finalise,
  include,
  reorganise,
  replace,
  type Inclusion,
  type Transaction,
} from '../transactions/domain/transaction.ts';
import type { TransactionEvent } from '../../../schemas/events/onchain/transaction-events.ts';
import { nonceParts } from '../operations/domain/user-operation.ts';
import type { ChainChange, WindowBlock } from './chain-window.ts';
import type { Mempool, MempoolEntry } from './mempool/mempool.ts';
import type { BundlerStreams } from './mempool/bundler-streams.ts';
import type { Resigner } from './mempool/resigner.ts';
import type { ReservationsOnChain } from './reservations-on-chain.ts';

/** Maximum number of blocks in one request for logs. */
const BLOCKS_AT_ONCE = 1_000;

interface ObservationsOptions {
  mempool: Mempool;
  streams: BundlerStreams;
  /** Updates the reservations of the paymaster's deposit. Repeating a call changes nothing. */
  settlements: Pick<ReservationsOnChain, 'onIncluded' | 'onOrphaned' | 'onFinal'>;
  resigner: Resigner;
  chain: Pick<OperationsChain, 'sequences' | 'inclusions'>;
  /** A block is final once this many blocks follow it. */
  confirmations: number;
  /**
   * Adds an operation, whose log a node had omitted, to its block. @returns `false` if the block is final or unknown
   */
  addToWindow: (inclusion: OperationInclusion) => boolean;
}

/** Records which operations the blocks of a chain include. */
export class Observations {
  constructor(private readonly options: ObservationsOptions) {}

  async record({ orphaned, added }: Pick<ChainChange, 'orphaned' | 'added'>): Promise<void> {
    for (const block of orphaned) await each(block.inclusions, (inclusion) => this.revert(inclusion));
    for (const block of added) await each(block.inclusions, (inclusion) => this.apply(inclusion));
  }

  /**
   * Records that the operations in these blocks are final. Drops operations whose paymaster signature expired, or signs
   * them again if an operation with the next nonce may wait for them.
   */
  async finalise(blocks: readonly WindowBlock[]): Promise<void> {
    for (const block of blocks) {
      await each(block.inclusions, (inclusion) => this.finaliseNonce(inclusion));
      await this.options.settlements.onFinal(block, block.inclusions);
    }
    const newest = blocks.at(-1);
    if (newest) await this.dropExpired(newest);
  }

  /** Records that an operation is pending again: the block that included it, or its replacement, was orphaned. */
  async revertInclusion(entry: MempoolEntry, blockHash: string): Promise<void> {
    await this.change(entry, (transaction) => reorganise(transaction, blockHash));
  }

  private async apply(inclusion: OperationInclusion): Promise<void> {
    const { sender, nonce, userOpHash, blockHash } = inclusion;
    for (const entry of this.options.mempool.getByNonce(sender, nonce)) {
      await this.change(entry, (transaction) =>
        entry.userOpHash === userOpHash
          ? include(transaction, inclusionOf(inclusion))
          : replace(transaction, { replacedBy: userOpHash, blockHash }),
      );
    }
    await this.options.settlements.onIncluded(inclusion);
  }

  private async revert(inclusion: OperationInclusion): Promise<void> {
    for (const entry of this.options.mempool.getByNonce(inclusion.sender, inclusion.nonce))
      await this.revertInclusion(entry, inclusion.blockHash);
    await this.options.settlements.onOrphaned(inclusion);
  }

  /**
   * Searches blocks for the operation that used the nonce of a mempool entry, and records its inclusion: a node may
   * have omitted the log, or the operation entered the mempool after the block was recorded.
   * @param range blocks `from`…`upTo`; `from` defaults to the first block that can include the operation. `final` is
   * the newest final block.
   */
  async recheckInclusion(
    { operation }: MempoolEntry,
    { from: known, upTo, final }: { from?: number; upTo: number; final: number },
  ): Promise<void> {
    const { sender, nonce } = operation;
    const signedAt = this.options.mempool
      .getByNonce(sender, nonce)
      .map(({ transaction }) => transaction.submission.headBlock);
    // After a reorganisation, the block of the operation may precede the head at which the operation was signed.
    const first = known ?? Math.max(0, Math.min(upTo, ...signedAt) - this.options.confirmations);
    for (let from = first; from <= upTo; from += BLOCKS_AT_ONCE) {
      const inclusions = await this.options.chain.inclusions(from, Math.min(upTo, from + BLOCKS_AT_ONCE - 1));
      const found = inclusions.find((inclusion) => inclusion.sender === sender && inclusion.nonce === nonce);
      if (!found) continue;
      // Ignores a block that is neither final nor in the window: nothing would notice its reorganisation.
      if (found.blockNumber > final && !this.options.addToWindow(found)) return;
      await this.apply(found);
      if (found.blockNumber <= final) await this.finaliseNonce(found);
      return;
    }
  }

  private async finaliseNonce({ sender, nonce }: OperationInclusion): Promise<void> {
    for (const entry of this.options.mempool.getByNonce(sender, nonce)) await this.change(entry, finalise);
  }

  /**
   * Drops, or signs again, operations whose paymaster signature expired before the time of a final block: no later
   * block can include them.
   */
  private async dropExpired({ number, timestamp }: OperationsBlock): Promise<void> {
    const expired = [...this.options.mempool.all()].filter(({ id, transaction: { status, submission } }) => {
      const { validUntil } = submission;
      // Skips an operation whose replacement, with the same nonce, is in the mempool.
      if (status !== 'submitted' || this.options.mempool.isSuperseded(id)) return false;
      return validUntil !== null && Date.parse(validUntil) < timestamp * 1_000;
    });
    if (expired.length === 0) return;
    const lines = expired.map(({ operation }) => ({ sender: operation.sender, ...nonceParts(operation.nonce) }));
    const next = await this.options.chain.sequences(lines);
    await each([...expired.entries()], async ([at, entry]) => {
      const isUsed = (next[at] ?? 0n) > (lines[at]?.sequence ?? 0n);
      if (isUsed) await this.recheckInclusion(entry, { upTo: number, final: number });
      else await this.expire(entry);
    });
  }

  /**
   * Signs an expired operation again if an operation with the next nonce may wait for it. Otherwise, or if it can never
   * be signed again, drops the operation.
   */
  private async expire(entry: MempoolEntry): Promise<void> {
    if (this.mayBeFollowed(entry)) {
      const outcome = await this.options.resigner.resign(entry, { deploys: entry.operation.factory !== undefined });
      if (outcome !== 'never') return;
    }
    await this.change(entry, (transaction) => drop(transaction, "the paymaster's signature has expired"));
  }

  /**
   * Whether another operation may have the next nonce, and would wait forever if this one were dropped: true if a
   * block, orphaned later, used this nonce. From then on, the next nonce may be assigned.
   */
  private mayBeFollowed({ transaction: { wasInBlock, submission } }: MempoolEntry): boolean {
    const replaced = submission.replaces === null ? undefined : this.options.mempool.get(submission.replaces);
    return wasInBlock || (replaced !== undefined && this.mayBeFollowed(replaced));
  }

  private async change(
    entry: MempoolEntry,
    decide: (transaction: Transaction | undefined) => TransactionEvent[],
  ): Promise<void> {
    this.options.mempool.put(entry.id, await this.options.streams.transaction(entry.id, decide));
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

const each = async <Item>(all: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> => {
  await Promise.all(all.map(work));
};
