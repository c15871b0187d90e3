import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { historyItem, type HistoryPage } from '../../../schemas/http/account-routes.ts';
import { READ_STORE } from '../../../shared/edge/tokens.ts';
import { historyModel } from '../../../shared/read-models/history.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { decodeCursor, encodeCursor } from './history-cursor.ts';

export class ReadHistory extends Query<HistoryPage> {
  constructor(
    readonly userId: string,
    readonly page: { take: number; cursor?: string | undefined; type?: string | undefined },
  ) {
    super();
  }
}

const { item } = historyModel.collections;

@QueryHandler(ReadHistory)
export class ReadHistoryHandler implements IQueryHandler<ReadHistory> {
  constructor(@Inject(READ_STORE) private readonly readStore: ReadStore) {}

  async execute({ userId, page: { take, cursor, type } }: ReadHistory): Promise<HistoryPage> {
    const after = cursor === undefined ? -1 : decodeCursor(userId, cursor);
    const found = await this.readStore.find(item.name, {
      filter: { userId, sequence: { gt: after }, ...(type !== undefined && { type }) },
      sort: [['sequence', 'asc']],
      limit: take + 1,
    });
    const documents = found.slice(0, take).map(({ document }) => item.document.parse(document));
    const last = documents.at(-1);
    return {
      items: documents.map((document) => historyItem.parse(document)),
      take,
      next: found.length > take && last ? encodeCursor(userId, last.sequence) : null,
    };
  }
}
