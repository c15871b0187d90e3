import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { Transaction, TransactionPage } from '../../../../schemas/http/onchain/onchain-routes.ts';
import { Apps } from '../../../../shared/auth/apps.ts';
import { Projections } from '../../../../shared/edge/answers/projections.ts';
import { READ_STORE } from '../../../../shared/edge/tokens.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import {
  listedOf,
  transactionsModel,
  type TransactionDocument,
} from '../../../../shared/read-models/onchain/transactions.ts';
import { QueryBudget } from '../../../../shared/read-store/query-budget.ts';
import type { ReadStore, StoredDocument } from '../../../../shared/read-store/read-store.ts';
import { OperationReceipts } from '../operation-receipts.ts';
import { TransactionsAsOf } from './transactions-as-of.ts';
import { TransactionCursors, type AskedAsOf } from './transaction-cursors.ts';

interface Asking {
  userId: string;
  /** The app of the session. */
  appId: string;
  /** Aborts when the client no longer waits for the answer. */
  ended: AbortSignal;
}

/** A transaction of the caller. */
export class GetTransaction extends Query<Transaction> {
  constructor(
    readonly asking: Asking,
    readonly transactionId: string,
    /** Default: now. */
    readonly asOf: Position | undefined,
  ) {
    super();
  }
}

interface Page {
  chainId?: number | undefined;
  take: number;
  /** The page begins after the transaction that was submitted at this position. */
  before?: Position | undefined;
  asOf?: AskedAsOf | undefined;
}

/** The transactions of the caller, newest first. */
export class ListTransactions extends Query<TransactionPage> {
  constructor(
    readonly asking: Asking,
    readonly page: Page,
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
    private readonly earlier: TransactionsAsOf,
    private readonly apps: Apps,
  ) {}

  async execute({ asking: { userId, appId, ended }, transactionId, asOf }: GetTransaction): Promise<Transaction> {
    if (asOf !== undefined) await this.models.reached(transactionsModel.name, asOf);
    const stored = await this.models.find(transactionsModel.name, async () =>
      (await this.readStore.getMany(transaction.name, [transactionId])).get(transactionId),
    );
    if (!stored) throw notFound();
    const found = transaction.document.parse(stored.document);
    const onlyOf = await this.apps.onlyOf(appId);
    if (found.userId !== userId || (onlyOf !== undefined && found.appId !== onlyOf)) throw notFound();
    if (asOf === undefined) return { ...listedOf(found), receipt: await this.receipts.of(found) };
    if (found.submittedPosition > asOf) throw new Refusal('transaction_not_found', 'it was submitted later');
    const budget = new QueryBudget({ caller: userId, signal: ended });
    const [then = found] = await this.earlier.at(asOf, [stored], budget);
    return { ...listedOf(then), receipt: isStillInBlock(then, found) ? await this.receipts.of(then) : null };
  }
}

const notFound = (): Refusal => new Refusal('transaction_not_found', 'none of the own transactions has this id');

/** Whether the block that had a transaction then still has it: the chain knows no receipt of any other. */
const isStillInBlock = (then: TransactionDocument, now: TransactionDocument): boolean =>
  then.inclusion?.blockHash === now.inclusion?.blockHash;

@QueryHandler(ListTransactions)
export class ListTransactionsHandler implements IQueryHandler<ListTransactions> {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly models: Projections,
    private readonly cursors: TransactionCursors,
    private readonly earlier: TransactionsAsOf,
    private readonly apps: Apps,
  ) {}

  async execute({ asking, page }: ListTransactions): Promise<TransactionPage> {
    const { take, asOf } = page;
    if (asOf) await this.models.reached(transactionsModel.name, asOf.position);
    const found = await this.find(asking, page);
    const shown = found.slice(0, take);
    const documents = asOf
      ? await this.earlier.at(asOf.position, shown, new QueryBudget({ caller: asking.userId, signal: asking.ended }))
      : shown.map(({ document }) => transaction.document.parse(document));
    const before = documents.at(-1)?.submittedPosition;
    return {
      items: documents.map(listedOf),
      take,
      next: found.length > take && before !== undefined ? this.cursors.write(asking.userId, { before, asOf }) : null,
    };
  }

  /** Finds the transactions of a page, and one more if there is one, as they are now. */
  private async find({ userId, appId }: Asking, { chainId, take, before, asOf }: Page): Promise<StoredDocument[]> {
    const onlyOf = await this.apps.onlyOf(appId);
    const submittedPosition = {
      ...(before !== undefined && { lt: before }),
      ...(asOf && { lte: asOf.position }),
    };
    return this.readStore.find(transaction.name, {
      filter: {
        userId,
        ...((before !== undefined || asOf) && { submittedPosition }),
        ...(chainId !== undefined && { chainId }),
        ...(onlyOf !== undefined && { appId: onlyOf }),
      },
      sort: [['submittedPosition', 'desc']],
      limit: take + 1,
    });
  }
}
