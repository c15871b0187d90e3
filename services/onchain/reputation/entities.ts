import { entityStream, type EntityEvent } from '../../../schemas/events/onchain/entity-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import {
  admitOperation,
  banEntity,
  entityFold,
  forgetEntity,
  isForgotten,
  setReputation,
  withdrawOperation,
  type Entity,
  type EntityAddress,
} from './domain/entity.ts';
import type { Submission, Transaction } from '../transactions/domain/transaction.ts';
import { loadTransaction } from '../transactions/load-transaction.ts';

interface Admission {
  transactionId: string;
  sender: string;
  nonce: bigint;
  pendingMax: number;
}

/** The reputation of foreign senders, factories and paymasters. One stream for each decides, whatever process asks. */
export class Entities {
  constructor(private readonly transactor: Transactor) {}

  async load({ chainId, address }: EntityAddress): Promise<Entity> {
    return (await this.transactor.load(entityStream(chainId, address), entityFold)).state;
  }

  /**
   * Counts one more operation of the entity; an operation of the same nonce is not pending any more.
   * @returns the other pending operations of the entity. @throws Throttled
   */
  async admit(
    entity: EntityAddress,
    { transactionId, sender, nonce, pendingMax }: Admission,
    metadata: EventMetadata,
  ): Promise<Transaction[]> {
    const { pending } = await this.load(entity);
    const loaded = await Promise.all(
      pending.map(async (one) => ({
        ...one,
        transaction: await loadTransaction(this.transactor, one.transactionId),
      })),
    );
    const nowMs = this.transactor.clock.now();
    const ended = loaded.filter(({ transaction, ...one }) =>
      transaction
        ? transaction.status !== 'submitted' || isOfNonce(transaction.submission, { sender, nonce })
        : isForgotten(one, nowMs),
    );
    const endedIds = ended.map((one) => one.transactionId);
    await this.change(entity, metadata, (state, now) =>
      admitOperation(state, entity, { transactionId, ended: endedIds, pendingMax }, now),
    );
    return loaded
      .filter((one) => one.transactionId !== transactionId && !ended.includes(one))
      .flatMap(({ transaction }) => transaction ?? []);
  }

  withdraw(entity: EntityAddress, transactionId: string, metadata: EventMetadata): Promise<void> {
    return this.change(entity, metadata, (state) => withdrawOperation(state, entity, transactionId));
  }

  ban(entity: EntityAddress, transactionHash: string, metadata: EventMetadata): Promise<void> {
    return this.change(entity, metadata, (state) => banEntity(state, entity, transactionHash));
  }

  setReputation(
    entity: EntityAddress,
    reputation: NonNullable<Entity['reputation']>,
    metadata: EventMetadata,
  ): Promise<void> {
    return this.change(entity, metadata, (state) => setReputation(state, entity, reputation));
  }

  forget(entity: EntityAddress, metadata: EventMetadata): Promise<void> {
    return this.change(entity, metadata, (state) => forgetEntity(state, entity));
  }

  private async change(
    { chainId, address }: EntityAddress,
    metadata: EventMetadata,
    decide: (entity: Entity, nowMs: number) => readonly EntityEvent[],
  ): Promise<void> {
    await this.transactor.transact({ stream: entityStream(chainId, address), fold: entityFold, metadata, decide });
  }
}

const isOfNonce = (submission: Submission, { sender, nonce }: Pick<Admission, 'sender' | 'nonce'>): boolean =>
  submission.sender === sender && submission.nonce === String(nonce);
