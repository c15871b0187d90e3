import { entityStream, type EntityEvent } from '../../../schemas/events/entity-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { transactionStream } from '../../../schemas/events/transaction-events.ts';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import {
  admitOperation,
  banEntity,
  entityFold,
  forgetEntity,
  isForgotten,
  setReputation,
  takeBackOperation,
  type Entity,
  type EntityAddress,
} from '../domain/entity.ts';
import { transactionFold, type Submission, type Transaction } from '../domain/transaction.ts';

interface Admission {
  transactionId: string;
  sender: string;
  nonce: bigint;
  pendingMax: number;
}

/** What is known of senders, factories and paymasters that are not ours: decided by one stream of each, in whatever process. */
export class Entities {
  constructor(private readonly transactor: Transactor) {}

  async of({ chainId, address }: EntityAddress): Promise<Entity> {
    return (await this.transactor.load(entityStream(chainId, address), entityFold)).state;
  }

  /**
   * Counts one more operation of it; another one of the same nonce waits no more.
   * @returns what it has pending beside this one. @throws Throttled
   */
  async admit(
    entity: EntityAddress,
    { transactionId, sender, nonce, pendingMax }: Admission,
    metadata: EventMetadata,
  ): Promise<Transaction[]> {
    const { pending } = await this.of(entity);
    const loaded = await Promise.all(
      pending.map(async (one) => {
        const { state } = await this.transactor.load(transactionStream(one.transactionId), transactionFold);
        return { ...one, transaction: state };
      }),
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

  takeBack(entity: EntityAddress, transactionId: string, metadata: EventMetadata): Promise<void> {
    return this.change(entity, metadata, (state) => takeBackOperation(state, entity, transactionId));
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
