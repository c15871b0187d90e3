import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { bundlerStream, type BundlerEvent } from '../../../../schemas/events/onchain/bundler-events.ts';
import { executorStream, type ExecutorEvent } from '../../../../schemas/events/onchain/executor-events.ts';
import { transactionStream, type TransactionEvent } from '../../../../schemas/events/onchain/transaction-events.ts';
import { systemMetadata } from '../../../../shared/event-store/transactions/own-metadata.ts';
import type { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { bundlingFold, type Bundling } from '../domain/bundling.ts';
import type { Entity } from '../../reputation/domain/entity.ts';
import { executorFold, type Executor } from '../domain/executor.ts';
import { transactionFold, type Transaction } from '../../transactions/domain/transaction.ts';
import { loadTransaction } from '../../transactions/load-transaction.ts';
import { Entities } from '../../reputation/entities.ts';

const BUNDLES_KEPT = 1_000;

/** The event streams that a bundler appends to. Each `decide` gets the stored state, not a state kept in memory. */
export class BundlerStreams {
  private readonly entities: Entities;

  constructor(
    private readonly transactor: Transactor,
    readonly chainId: number,
  ) {
    this.entities = new Entities(transactor);
  }

  /** Appends the events from `decide` to a transaction, which is one signed operation. @returns its new state */
  async transaction(
    id: string,
    decide: (transaction: Transaction | undefined) => readonly TransactionEvent[],
  ): Promise<Transaction> {
    const { state } = await this.transactor.transact({
      stream: transactionStream(id),
      fold: transactionFold,
      metadata: this.metadata(),
      decide,
    });
    if (!state) throw new Error(`there is no transaction ${id}`);
    return state;
  }

  async loadTransaction(id: string): Promise<Transaction> {
    const transaction = await loadTransaction(this.transactor, id);
    if (!transaction) throw new Error(`there is no transaction ${id}`);
    return transaction;
  }

  async executor(address: string, decide: (executor: Executor) => readonly ExecutorEvent[]): Promise<Executor> {
    const { state } = await this.transactor.transact({
      stream: executorStream(this.chainId, address),
      fold: executorFold,
      metadata: this.metadata(),
      keep: { newest: BUNDLES_KEPT },
      decide,
    });
    return state;
  }

  async bundling(decide: (bundling: Bundling) => readonly BundlerEvent[] = () => []): Promise<Bundling> {
    const { state } = await this.transactor.transact({
      stream: bundlerStream(this.chainId),
      fold: bundlingFold,
      metadata: this.metadata(),
      decide,
    });
    return state;
  }

  /** Returns the reputation of a sender, factory or paymaster. */
  entity(address: string): Promise<Entity> {
    return this.entities.load({ chainId: this.chainId, address });
  }

  /** Bans a sender, factory or paymaster. @param transactionHash of the bundle that it reverted */
  ban(address: string, transactionHash: string): Promise<void> {
    return this.entities.ban({ chainId: this.chainId, address }, transactionHash, this.metadata());
  }

  private metadata(): EventMetadata {
    return systemMetadata(this.transactor.ids, 'account');
  }
}
