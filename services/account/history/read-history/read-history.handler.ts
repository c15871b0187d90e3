import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { userStream } from '../../../../schemas/events/account/user-events.ts';
import type { HistoryPage, HistoryQuery } from '../../../../schemas/http/account/history.ts';
import { HistoryThread } from '../../../../shared/audit/history-thread.ts';
import { PositionHeader } from '../../../../shared/edge/answers/position-header.ts';
import { notCaughtUp, Projections } from '../../../../shared/edge/answers/projections.ts';
import { EVENT_STORE, MASTER_KEY, READ_STORE } from '../../../../shared/edge/tokens.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import { PersonalData } from '../../../../shared/key-vault/personal-data.ts';
import { SignedText } from '../../../../shared/keys/signed-text.ts';
import { historyModel, type HistoryDocument } from '../../../../shared/read-models/account/history.ts';
import { QueryBudget } from '../../../../shared/read-store/query-budget.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { sequencesOf, timeFilter, type SequenceRange } from './history-range.ts';

export class ReadHistory extends Query<HistoryPage> {
  constructor(
    readonly userId: string,
    readonly asked: HistoryQuery,
    /** Aborts when the client no longer waits for the answer. */
    readonly ended: AbortSignal,
  ) {
    super();
  }
}

const { item } = historyModel.collections;
/** Items per piece of work. Other callers wait for at most one piece. */
const PIECE_ITEMS = 100;

interface Reading {
  userId: string;
  asked: HistoryQuery;
  range: SequenceRange;
  /** The sequence number of the item after which to go on. */
  last: number | undefined;
}

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

  async execute({ userId, asked, ended }: ReadHistory): Promise<HistoryPage> {
    const { take, cursor } = asked;
    const query = queryOf(userId, asked);
    const last = cursor === undefined ? undefined : this.readCursor(query, cursor);
    await this.projected(userId);
    const budget = new QueryBudget({ caller: userId, signal: ended });
    const range = await this.thread.inSlot(budget, () => sequencesOf(this.readStore, userId, asked));
    const page = await this.read({ userId, asked, range, last }, budget);
    if (page.items.length === 0 && last === undefined && !isFiltered(asked)) throw notCaughtUp();
    return { items: page.items, take, next: page.hasMore ? this.cursors.write(query, String(page.last)) : null };
  }

  /**
   * A history that is being projected again lacks items: waits until all of the user's stream is projected.
   * @throws Refusal not_caught_up
   */
  private async projected(userId: string): Promise<void> {
    const [newest] = await this.eventStore.read(userStream(userId), { direction: 'backwards', limit: 1 });
    if (!newest) throw new Refusal('user_not_found', 'no user has this id');
    await this.models.reached(historyModel.name, newest.position);
  }

  /** Reads a page in pieces, between which other callers get their turn. */
  private async read(reading: Reading, budget: QueryBudget) {
    const { take } = reading.asked;
    const items: HistoryPage['items'] = [];
    for (let { last } = reading; ;) {
      const limit = Math.min(PIECE_ITEMS, take - items.length);
      const before = last;
      const found = await this.thread.inSlot(budget, () => this.piece({ ...reading, last: before }, limit + 1));
      const piece = found.slice(0, limit);
      items.push(...piece.map((document) => this.itemOf(document)));
      last = piece.at(-1)?.sequence ?? last;
      const hasMore = found.length > limit;
      if (!hasMore || items.length === take) return { items, last, hasMore };
    }
  }

  private async piece({ userId, asked, range, last }: Reading, limit: number) {
    const { type, app, session, order } = asked;
    const [after, before] = order === 'asc' ? [last ?? range.after, range.before] : [range.after, last ?? range.before];
    const found = await this.readStore.find(item.name, {
      filter: {
        userId,
        sequence: { gt: after, ...(before !== Infinity && { lt: before }) },
        ...timeFilter(asked),
        ...(type !== undefined && { type }),
        ...(app !== undefined && { app }),
        ...(session !== undefined && { session }),
      },
      sort: [['sequence', order]],
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

  /** Returns the sequence number of the last item of the page before. @throws Refusal cursor_invalid */
  private readCursor(query: string, cursor: string): number {
    const sequence = this.cursors.read(query, cursor);
    if (sequence) return Number(sequence);
    throw new Refusal('cursor_invalid', "the cursor is not from this user's history, or from one with other filters");
  }
}

/** What a cursor is bound to: all that decides which items there are, and in which order. */
const queryOf = (userId: string, { type, from, to, app, session, order }: HistoryQuery): string =>
  JSON.stringify({ userId, type, from, to, app, session, order });

const isFiltered = ({ type, from, to, app, session }: HistoryQuery): boolean =>
  [type, from, to, app, session].some((filter) => filter !== undefined);
