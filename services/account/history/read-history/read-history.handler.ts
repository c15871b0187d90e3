import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { userStream } from '../../../schemas/events/user-events.ts';
import type { HistoryPage } from '../../../schemas/http/history.ts';
import { HistoryThread } from '../../../shared/audit/history-thread.ts';
import { PositionHeader } from '../../../shared/edge/position-header.ts';
import { notCaughtUp, Projections } from '../../../shared/edge/projections.ts';
import { EVENT_STORE, MASTER_KEY, READ_STORE } from '../../../shared/edge/tokens.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { PersonalData } from '../../../shared/key-vault/personal-data.ts';
import { SignedText } from '../../../shared/keys/signed-text.ts';
import { historyModel, type HistoryDocument } from '../../../shared/read-models/history.ts';
import { QueryBudget } from '../../../shared/read-store/query-budget.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

interface Page {
  take: number;
  cursor?: string | undefined;
  type?: string | undefined;
  /** Only what came through this app. */
  app?: string | undefined;
}

export class ReadHistory extends Query<HistoryPage> {
  constructor(
    readonly userId: string,
    readonly page: Page,
    /** Aborts when nobody waits for the answer any more. */
    readonly ended: AbortSignal,
  ) {
    super();
  }
}

const { item } = historyModel.collections;
/** Nobody else waits longer than for so many. */
const PIECE_ITEMS = 100;

@QueryHandler(ReadHistory)
export class ReadHistoryHandler implements IQueryHandler<ReadHistory> {
  private readonly cursors: SignedText;

  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    @Inject(EVENT_STORE) private readonly eventStore: EventStore,
    @Inject(MASTER_KEY) masterKey: Uint8Array,
    private readonly models: Projections,
    private readonly positions: PositionHeader,
    private readonly personalData: PersonalData,
    private readonly thread: HistoryThread,
  ) {
    this.cursors = new SignedText(masterKey, 'history cursors');
  }

  async execute({ userId, page, ended }: ReadHistory): Promise<HistoryPage> {
    const { take, cursor, type, app } = page;
    const after = cursor === undefined ? -1 : this.readCursor(userId, cursor);
    await this.projected(userId);
    const { items, last, hasMore } = await this.read(userId, { ...page, after }, ended);
    if (items.length === 0 && after === -1 && type === undefined && app === undefined) throw notCaughtUp();
    return { items, take, next: hasMore ? this.cursors.write(userId, String(last)) : null };
  }

  /** A history that is being projected anew lacks items: waits for all of the user's stream. @throws Refusal not_caught_up */
  private async projected(userId: string): Promise<void> {
    const [newest] = await this.eventStore.read(userStream(userId), { direction: 'backwards', limit: 1 });
    if (!newest) throw new Refusal('user_not_found', 'no user has this id');
    await this.models.reached(historyModel.name, newest.position);
  }

  /** Reads a page in pieces, between which others have their turn. */
  private async read(userId: string, { take, type, app, after }: Page & { after: number }, ended: AbortSignal) {
    const budget = new QueryBudget({ caller: userId, signal: ended });
    const items: HistoryPage['items'] = [];
    for (let last = after; ;) {
      const limit = Math.min(PIECE_ITEMS, take - items.length);
      const from = last;
      const found = await this.thread.inSlot(budget, () =>
        this.piece({ userId, type, app, after: from, limit: limit + 1 }),
      );
      const piece = found.slice(0, limit);
      items.push(...piece.map((document) => this.itemOf(document)));
      last = piece.at(-1)?.sequence ?? last;
      const hasMore = found.length > limit;
      if (!hasMore || items.length === take) return { items, last, hasMore };
    }
  }

  private async piece({
    userId,
    type,
    app,
    after,
    limit,
  }: Omit<Page, 'take'> & { userId: string; after: number; limit: number }) {
    const found = await this.readStore.find(item.name, {
      filter: {
        userId,
        sequence: { gt: after },
        ...(type !== undefined && { type }),
        ...(app !== undefined && { app }),
      },
      sort: [['sequence', 'asc']],
      limit,
    });
    if (found.length === 0) return [];
    const documents = found.map(({ document }) => document);
    const keys = await this.personalData.keysOf(documents.map(({ data, salt }) => [data, salt]));
    return (await this.thread.open({ documents, keys })) as HistoryDocument[];
  }

  private itemOf({ type, time, actor, app, session, requestId, data, position, hash }: HistoryDocument) {
    return { type, time, actor, app, session, requestId, data, position: this.positions.write(position), hash };
  }

  /** Returns the sequence number after which the page begins. @throws Refusal cursor_invalid */
  private readCursor(userId: string, cursor: string): number {
    const sequence = this.cursors.read(userId, cursor);
    if (sequence) return Number(sequence);
    throw new Refusal('cursor_invalid', "the cursor is not from this user's history");
  }
}
