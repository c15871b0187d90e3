import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { Transaction, TransactionPage } from '../../../schemas/http/onchain-routes.ts';
import { Projections } from '../../../shared/edge/projections.ts';
import { MASTER_KEY, READ_STORE } from '../../../shared/edge/tokens.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { SignedText } from '../../../shared/keys/signed-text.ts';
import { listedOf, transactionsModel } from '../../../shared/read-models/transactions.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { Apps } from '../edge/apps.ts';
import { OperationReceipts } from '../edge/operation-receipts.ts';

/** One of the own transactions. */
export class GetTransaction extends Query<Transaction> {
  constructor(
    readonly userId: string,
    readonly transactionId: string,
    /** Of the session that asks. */
    readonly appId: string,
  ) {
    super();
  }
}

/** The own transactions, newest first. */
export class ListTransactions extends Query<TransactionPage> {
  constructor(
    readonly userId: string,
    readonly page: { chainId?: number | undefined; take: number; cursor?: string | undefined },
    /** Of the session that asks. */
    readonly appId: string,
  ) {
    super();
  }
}

const { transaction } = transactionsModel.collections;

@QueryHandler(GetTransaction)
export class GetTransactionHandler implements IQueryHandler<GetTransaction> {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly models: Projections,
    private readonly receipts: OperationReceipts,
    private readonly apps: Apps,
  ) {}

  async execute({ userId, transactionId, appId }: GetTransaction): Promise<Transaction> {
    const stored = await this.models.find(transactionsModel.name, async () =>
      (await this.readStore.getMany(transaction.name, [transactionId])).get(transactionId),
    );
    const found = stored && transaction.document.parse(stored.document);
    const onlyOf = await this.apps.onlyOf(appId);
    if (found?.userId !== userId || (onlyOf !== undefined && found.appId !== onlyOf)) {
      throw new Refusal('transaction_not_found', 'none of the own transactions has this id');
    }
    return { ...listedOf(found), receipt: await this.receipts.of(found) };
  }
}

@QueryHandler(ListTransactions)
export class ListTransactionsHandler implements IQueryHandler<ListTransactions> {
  private readonly cursors: SignedText;

  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    @Inject(MASTER_KEY) masterKey: Uint8Array,
    private readonly apps: Apps,
  ) {
    this.cursors = new SignedText(masterKey, 'transaction cursors');
  }

  async execute({ userId, page: { chainId, take, cursor }, appId }: ListTransactions): Promise<TransactionPage> {
    const onlyOf = await this.apps.onlyOf(appId);
    const found = await this.readStore.find(transaction.name, {
      filter: {
        userId,
        ...(cursor !== undefined && { submittedPosition: { lt: this.readCursor(userId, cursor) } }),
        ...(chainId !== undefined && { chainId }),
        ...(onlyOf !== undefined && { appId: onlyOf }),
      },
      sort: [['submittedPosition', 'desc']],
      limit: take + 1,
    });
    const documents = found.slice(0, take).map(({ document }) => transaction.document.parse(document));
    const last = documents.at(-1);
    return {
      items: documents.map(listedOf),
      take,
      next: found.length > take && last ? this.cursors.write(userId, String(last.submittedPosition)) : null,
    };
  }

  /** Returns the position before which the page begins. @throws Refusal cursor_invalid */
  private readCursor(userId: string, cursor: string): number {
    const position = this.cursors.read(userId, cursor);
    if (position) return Number(position);
    throw new Refusal('cursor_invalid', "the cursor is not of this user's transactions");
  }
}
