import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { UserOpReceipt } from '../../../../schemas/http/onchain/onchain-routes.ts';
import { Projections } from '../../../../shared/edge/answers/projections.ts';
import { READ_STORE } from '../../../../shared/edge/tokens.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { transactionsModel, type TransactionDocument } from '../../../../shared/read-models/onchain/transactions.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { OperationReceipts } from '../operation-receipts.ts';
import { TransactionChanges } from '../transaction-changes.ts';

/** The status of an operation that this service accepted. */
export class ReadReceipt extends Query<UserOpReceipt> {
  constructor(
    readonly operation: { chainId: number; userOpHash: string },
    /** How long to wait for the next change before answering. */
    readonly waitMs: number,
  ) {
    super();
  }
}

const { transaction } = transactionsModel.collections;

@QueryHandler(ReadReceipt)
export class ReadReceiptHandler implements IQueryHandler<ReadReceipt> {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly models: Projections,
    private readonly changes: TransactionChanges,
    private readonly receipts: OperationReceipts,
  ) {}

  async execute({ operation, waitMs }: ReadReceipt): Promise<UserOpReceipt> {
    const first = await this.models.find(transactionsModel.name, () => this.look(operation));
    if (!first) throw new Refusal('user_op_not_found', 'no operation with this hash was accepted here');
    const found = waitMs > 0 && first.isOpen ? await this.changes.next(first, waitMs) : first;
    const [confirmations, receipt] = await Promise.all([this.receipts.confirmations(found), this.receipts.of(found)]);
    const { userOpHash, status, replacedBy } = found;
    return { userOpHash, status, confirmations, receipt, replacedBy };
  }

  private async look(operation: ReadReceipt['operation']): Promise<TransactionDocument | undefined> {
    const [found] = await this.readStore.find(transaction.name, { filter: operation, limit: 1 });
    return found && transaction.document.parse(found.document);
  }
}
