import type { EventMetadata } from '../../../schemas/events/event.ts';
import { bundlerStream, type BundlerEvent } from '../../../schemas/events/bundler-events.ts';
import { executorStream, type ExecutorEvent } from '../../../schemas/events/executor-events.ts';
import { transactionStream, type TransactionEvent } from '../../../schemas/events/transaction-events.ts';
import { systemMetadata } from '../../../shared/event-store/own-metadata.ts';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import { bundlingFold, type Bundling } from '../domain/bundling.ts';
import type { Entity } from '../domain/entity.ts';
import { executorFold, type Executor } from '../domain/executor.ts';
import { transactionFold, type Transaction } from '../domain/transaction.ts';
import { Entities } from '../edge/entities.ts';

const BUNDLES_KEPT = 1_000;

/** What a bundler appends: it decides on what is stored, and not on what it remembers. */
export class Records {
  private readonly entities: Entities;

  constructor(
    private readonly transactor: Transactor,
    readonly chainId: number,
  ) {
    this.entities = new Entities(transactor);
  }

  /** Returns the transaction as it is then. */
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

  async load(id: string): Promise<Transaction> {
    const { state } = await this.transactor.load(transactionStream(id), transactionFold);
    if (!state) throw new Error(`there is no transaction ${id}`);
    return state;
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

  /** What is known of a sender, factory or paymaster. */
  entity(address: string): Promise<Entity> {
    return this.entities.of({ chainId: this.chainId, address });
  }

  /** @param transactionHash of the bundle that it reverted */
  ban(address: string, transactionHash: string): Promise<void> {
    return this.entities.ban({ chainId: this.chainId, address }, transactionHash, this.metadata());
  }

  private metadata(): EventMetadata {
    return systemMetadata(this.transactor.ids, 'account');
  }
}
