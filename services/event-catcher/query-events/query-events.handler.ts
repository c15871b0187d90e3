import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { EventPage } from '../../../schemas/http/event-catcher-routes.ts';
import type { EventRecord, RecordStatus } from '../../../schemas/http/event-record.ts';
import { chainEventsModel } from '../../../shared/read-models/chain-events.ts';
import { contractKey } from '../../../schemas/topics.ts';
import { readAddressMember } from '../../../shared/chain/address.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { SignedText } from '../../../shared/keys/signed-text.ts';
import { MASTER_KEY, READ_STORE } from '../../../shared/edge/tokens.ts';
import type { ReadStore, StoredDocument } from '../../../shared/read-store/read-store.ts';
import { WatchModels } from '../edge/watch-models.ts';
import { selectEvents, type EventQueryParameters, type Order, type Selection } from './event-selection.ts';

export class QueryEvents extends Query<EventPage> {
  constructor(readonly asked: EventQueryParameters) {
    super();
  }
}

const { record, count } = chainEventsModel.collections;

@QueryHandler(QueryEvents)
export class QueryEventsHandler implements IQueryHandler<QueryEvents> {
  private readonly cursors: SignedText;

  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly watchModels: WatchModels,
    @Inject(MASTER_KEY) masterKey: Uint8Array,
  ) {
    this.cursors = new SignedText(masterKey, 'event cursors');
  }

  async execute({ asked: given }: QueryEvents): Promise<EventPage> {
    const asked = { ...given, contractAddress: readAddressMember('contractAddress', given.contractAddress) };
    const { chainId, contractAddress, take, skip } = asked;
    const after = asked.cursor === undefined ? undefined : this.readCursor(asked.cursor, asked);
    const watches = await this.watchModels.ofContract(chainId, contractAddress);
    const finalized = (await this.watchModels.chain(chainId))?.finalized ?? -1;
    const selection = selectEvents(asked, watches, finalized);
    const [found, total] = await Promise.all([this.page(asked, selection, after), this.total(asked, selection)]);
    const shown = found.slice(0, take);
    const last = shown.at(-1);
    return {
      items: shown.map((stored) => toRecord(stored, selection, finalized)),
      take,
      skip,
      total,
      next: found.length > take && last ? this.cursors.write(cursorScope(asked), last.id) : null,
    };
  }

  /** Returns the id of the document after which the page begins. @throws Refusal cursor_invalid */
  private readCursor(cursor: string, asked: EventQueryParameters): string {
    const id = this.cursors.read(cursorScope(asked), cursor);
    if (id) return id.toString();
    throw new Refusal('cursor_invalid', 'the cursor was issued for another contract or order');
  }

  /** Returns the documents of the page, and the one after it if there is one. */
  private async page(
    { take, skip, order }: EventQueryParameters,
    { ids, filters }: Selection,
    after: string | undefined,
  ): Promise<StoredDocument[]> {
    const id = after === undefined ? ids : idsAfter(after, ids, order);
    const sort = [['id', order]] as const;
    const end = skip + take + 1;
    const [only, ...more] = filters;
    if (!only) return [];
    if (more.length === 0)
      return this.readStore.find(record.name, { filter: { ...only, id }, sort, skip, limit: take + 1 });
    const found = await Promise.all(
      filters.map((filter) => this.readStore.find(record.name, { filter: { ...filter, id }, sort, limit: end })),
    );
    const direction = order === 'asc' ? 1 : -1;
    return found
      .flat()
      .sort((left, right) => (left.id < right.id ? -direction : direction))
      .slice(skip, end);
  }

  private async total(asked: EventQueryParameters, { ids: id, filters, counted }: Selection): Promise<number> {
    if (!counted) {
      return sum(await Promise.all(filters.map((filter) => this.readStore.count(record.name, { ...filter, id }))));
    }
    const counts = await this.readStore.getMany(count.name, counted);
    return sum(
      Array.from(counts.values(), ({ document }) => {
        const { canonical, reverted } = count.document.parse(document);
        return asked.status === 'reverted' ? reverted : canonical;
      }),
    );
  }
}

/** A cursor is valid for one contract and order; the other filters may change. */
const cursorScope = ({ chainId, contractAddress, order }: EventQueryParameters): string =>
  `${contractKey(chainId, contractAddress)} ${order}`;

/** Returns the part of the ids that comes after one of them. */
const idsAfter = (after: string, { gte, lt }: Selection['ids'], order: Order) =>
  order === 'asc' ? { gte, gt: after, lt } : { gte, lt: after < lt ? after : lt };

const toRecord = ({ document }: StoredDocument, { watchIds }: Selection, finalized: number): EventRecord => {
  const { changes: _, observedPosition: __, reverted, WatchId, ...observed } = record.document.parse(document);
  const isFinal = observed.BlockNumber <= finalized;
  const Status: RecordStatus = reverted ? 'reverted' : isFinal ? 'finalized' : 'observed';
  return { ...observed, WatchId: watchIds.get(WatchId) ?? WatchId, Status };
};

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
