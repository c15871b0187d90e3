import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { EventPage } from '../../../schemas/http/event-catcher-routes.ts';
import type { EventRecord, RecordStatus } from '../../../schemas/http/event-record.ts';
import { chainEventsModel, type ChainEventDocument } from '../../../shared/read-models/chain-events.ts';
import { contractKey } from '../../../schemas/topics.ts';
import { readAddressMember } from '../../../shared/chain/address.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { SignedText } from '../../../shared/keys/signed-text.ts';
import { MASTER_KEY, READ_STORE } from '../../../shared/edge/tokens.ts';
import { QueryBudget } from '../../../shared/read-store/query-budget.ts';
import type { Hit, ReadStore, StoredDocument } from '../../../shared/read-store/read-store.ts';
import { WatchModels } from '../edge/watch-models.ts';
import { selectEvents, type EventQueryParameters, type Selection } from './event-selection.ts';
import { RecordSearch } from './record-search.ts';

/** Who asks, and when nobody waits for the answer any more. */
interface Asker {
  userId: string;
  ended: AbortSignal;
}

export class QueryEvents extends Query<EventPage> {
  constructor(
    readonly asked: EventQueryParameters,
    readonly asker: Asker,
  ) {
    super();
  }
}

/** The answer begins within 5 s, of which other reads take some. */
const QUERY_WITHIN_MS = 4_000;
const { record } = chainEventsModel.collections;

@QueryHandler(QueryEvents)
export class QueryEventsHandler implements IQueryHandler<QueryEvents> {
  private readonly cursors: SignedText;

  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly watchModels: WatchModels,
    @Inject(MASTER_KEY) masterKey: Uint8Array,
  ) {
    this.cursors = new SignedText(masterKey, 'event cursors of places');
  }

  async execute({ asked: given, asker }: QueryEvents): Promise<EventPage> {
    const asked = { ...given, contractAddress: readAddressMember('contractAddress', given.contractAddress) };
    const { chainId, contractAddress, take, skip, order: direction } = asked;
    const after = asked.cursor === undefined ? undefined : this.readCursor(asked.cursor, asked);
    const watches = await this.watchModels.ofContract(chainId, contractAddress);
    const finalized = (await this.watchModels.chain(chainId))?.finalized ?? -1;
    const selection = selectEvents(asked, watches, finalized);
    const budget = new QueryBudget({ caller: asker.userId, withinMs: QUERY_WITHIN_MS, signal: asker.ended });
    const search = await RecordSearch.begin(this.readStore, selection, budget);
    const [hits, total] = await Promise.all([
      search.hits({ direction, limit: skip + take + 1, after }),
      search.total(),
    ]);
    const shown = hits.slice(skip, skip + take);
    const last = shown.at(-1);
    return {
      items: recordsOf(await search.documents(shown), selection, finalized),
      take,
      skip,
      total,
      next: hits.length > skip + take && last ? this.writeCursor(last, asked) : null,
    };
  }

  private writeCursor({ order, reference }: Hit, asked: EventQueryParameters): string {
    return this.cursors.write(cursorScope(asked), JSON.stringify([order, reference]));
  }

  /** Returns the record after which the page begins. @throws Refusal cursor_invalid */
  private readCursor(cursor: string, asked: EventQueryParameters): Hit {
    const text = this.cursors.read(cursorScope(asked), cursor);
    if (!text) throw new Refusal('cursor_invalid', 'the cursor was issued for another contract or order');
    const [order, reference] = JSON.parse(text.toString()) as [number, Hit['reference']];
    return { order, reference };
  }
}

/** A cursor is valid for one contract and order; the other filters may change. */
const cursorScope = ({ chainId, contractAddress, order }: EventQueryParameters): string =>
  `${contractKey(chainId, contractAddress)} ${order}`;

/** Leaves out what a reorganisation has changed since it was found. */
const recordsOf = (found: readonly StoredDocument[], { reverted, watches }: Selection, finalized: number) => {
  const watchIds = new Map(watches.map(({ recordWatchId, id }) => [recordWatchId, id]));
  return found
    .map(({ document }) => record.document.parse(document))
    .filter((document) => document.reverted === reverted)
    .map((document) => toRecord(document, watchIds, finalized));
};

const toRecord = (
  document: ChainEventDocument,
  watchIds: ReadonlyMap<string, string>,
  finalized: number,
): EventRecord => {
  const { changes: _, observedPosition: __, segment: ___, reverted, WatchId, ...observed } = document;
  const isFinal = observed.BlockNumber <= finalized;
  const Status: RecordStatus = reverted ? 'reverted' : isFinal ? 'finalized' : 'observed';
  return { ...observed, WatchId: watchIds.get(WatchId) ?? WatchId, Status };
};
