import { transactionStream } from '../../../../schemas/events/onchain/transaction-events.ts';
import type { HistoryThread } from '../../../../shared/audit/history-thread.ts';
import type { EventStore, Position, StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { inPieces } from '../../../../shared/primitives/in-pieces.ts';
import { transactionsModel, type TransactionDocument } from '../../../../shared/read-models/onchain/transactions.ts';
import type { QueryBudget } from '../../../../shared/read-store/query-budget.ts';
import type { StoredDocument } from '../../../../shared/read-store/read-store.ts';

/** Transactions per piece of work. Other callers wait for at most one piece. */
const PIECE_TRANSACTIONS = 25;
const { document: schema } = transactionsModel.collections.transaction;

/**
 * Shows transactions as of an earlier position. One that has not changed since is answered as it is; the others are
 * folded from their own streams, which are short.
 */
export class TransactionsAsOf {
  constructor(
    private readonly eventStore: Pick<EventStore, 'read'>,
    private readonly thread: HistoryThread,
  ) {}

  /**
   * @param stored transactions that were submitted up to the position, as they are now
   * @returns the same transactions as they were, in the same order
   * @throws as `check` of the budget
   */
  async at(asOf: Position, stored: readonly StoredDocument[], budget: QueryBudget): Promise<TransactionDocument[]> {
    const then: TransactionDocument[] = [];
    for (const piece of inPieces(stored, PIECE_TRANSACTIONS))
      then.push(...(await this.thread.inSlot(budget, () => this.piece(asOf, piece))));
    return then;
  }

  private async piece(asOf: Position, stored: readonly StoredDocument[]): Promise<TransactionDocument[]> {
    const changed = stored.filter(({ position }) => position > asOf);
    const streams = await Promise.all(changed.map(({ id }) => this.eventStore.read(transactionStream(id))));
    const folded = new Map(changed.map(({ id }, at) => [id, foldedUpTo(asOf, streams[at] ?? [])]));
    return stored.map(({ id, document }) => folded.get(id) ?? schema.parse(document));
  }
}

const foldedUpTo = (asOf: Position, events: readonly StoredEvent[]): TransactionDocument | undefined => {
  let documents: ReturnType<typeof transactionsModel.evolve> = {};
  for (const event of events) if (event.position <= asOf) documents = transactionsModel.evolve(documents, event);
  return documents['transaction'] && schema.parse(documents['transaction']);
};
