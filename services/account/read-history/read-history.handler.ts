import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { historyItem, type HistoryPage } from '../../../schemas/http/account-routes.ts';
import { historyModel } from '../../../shared/read-models/history.ts';
import { openItems } from '../../../shared/audit/export-history.ts';
import { PersonalData } from '../../../shared/key-vault/personal-data.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { SignedText } from '../../../shared/keys/signed-text.ts';
import { MASTER_KEY, READ_STORE } from '../../../shared/edge/tokens.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

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
  private readonly cursors: SignedText;

  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    @Inject(MASTER_KEY) masterKey: Uint8Array,
    private readonly personalData: PersonalData,
  ) {
    this.cursors = new SignedText(masterKey, 'history cursors');
  }

  async execute({ userId, page: { take, cursor, type } }: ReadHistory): Promise<HistoryPage> {
    const after = cursor === undefined ? -1 : this.readCursor(userId, cursor);
    const found = await this.readStore.find(item.name, {
      filter: { userId, sequence: { gt: after }, ...(type !== undefined && { type }) },
      sort: [['sequence', 'asc']],
      limit: take + 1,
    });
    const items = await openItems(found.slice(0, take), this.personalData);
    const last = items.at(-1);
    return {
      items: items.map((opened) => historyItem.parse({ ...opened, data: opened.data ?? {} })),
      take,
      next: found.length > take && last ? this.cursors.write(userId, String(last.sequence)) : null,
    };
  }

  /** Returns the sequence number after which the page begins. @throws Refusal cursor_invalid */
  private readCursor(userId: string, cursor: string): number {
    const sequence = this.cursors.read(userId, cursor);
    if (sequence) return Number(sequence);
    throw new Refusal('cursor_invalid', "the cursor is not from this user's history");
  }
}
