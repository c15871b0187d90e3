import type { EventRecord, RecordStatus } from '../../../schemas/http/event-record.ts';
import { contractKey } from '../../../schemas/topics.ts';
import { readAddressMember } from '../../../shared/chain/address.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { SignedText } from '../../../shared/keys/signed-text.ts';
import { chainEventsModel, type ChainEventDocument } from '../../../shared/read-models/chain-events.ts';
import type { QueryBudget } from '../../../shared/read-store/query-budget.ts';
import type { Hit, ReadStore } from '../../../shared/read-store/read-store.ts';
import type { WatchModels } from '../edge/watch-models.ts';
import { selectEvents, type EventQueryParameters, type Selection } from './event-selection.ts';
import { OnePerLog } from './one-per-log.ts';
import { KeptSegments, RecordSearch } from './record-search.ts';

const { record } = chainEventsModel.collections;

/** A query that was understood. */
export interface RecordQuery {
  search: Pick<RecordSearch, 'hits' | 'total' | 'documents'>;
  /** The record after which it begins, if it has a cursor. */
  after: Hit | undefined;
  /** Leaves out what a reorganisation has changed since it was found. */
  recordsOf: (hits: readonly Hit[]) => Promise<EventRecord[]>;
  cursorAfter: (hit: Hit) => string;
}

/** Understands queries of records. */
export class RecordQueries {
  private readonly cursors: SignedText;
  private readonly keptSegments = new KeptSegments();

  constructor(
    private readonly readStore: ReadStore,
    private readonly watchModels: WatchModels,
    edgeKey: Uint8Array,
  ) {
    this.cursors = new SignedText(edgeKey, 'event cursors of places');
  }

  /** @throws Refusal validation_failed, cursor_invalid, watch_not_found, not_caught_up */
  async begin(given: EventQueryParameters, budget: QueryBudget): Promise<RecordQuery> {
    const contractAddress = readAddressMember('contractAddress', given.contractAddress, [given.chainId]);
    const asked = { ...given, contractAddress };
    const { chainId, cursor, eventSignature: name, watchId, caller } = asked;
    const after = cursor === undefined ? undefined : this.readCursor(cursor, asked);
    const watches = await this.watchModels.ofContract(asked, { name, watchId, caller });
    const finalized = (await this.watchModels.chain(chainId))?.finalized ?? -1;
    const selection = selectEvents(asked, watches, finalized);
    const search = await this.searchFor(selection, budget);
    const watchIds = new Map(selection.watches.map(({ recordWatchId, id }) => [recordWatchId, id]));
    return {
      search,
      after,
      recordsOf: async (hits) =>
        (await search.documents(hits))
          .map(({ document }) => record.document.parse(document))
          .filter(({ reverted }) => reverted === selection.reverted)
          .map((document) => toRecord(document, watchIds, finalized)),
      cursorAfter: ({ order, reference }) => this.cursors.write(cursorScope(asked), JSON.stringify([order, reference])),
    };
  }

  private async searchFor(selection: Selection, budget: QueryBudget): Promise<RecordQuery['search']> {
    const begin = (watches: Selection['watches']) =>
      RecordSearch.begin(this.readStore, { ...selection, watches }, { budget, kept: this.keptSegments });
    const [first, ...others] = selection.watches;
    if (!selection.isOnePerLog || !first) return begin(selection.watches);
    return new OnePerLog([await begin([first]), ...(await Promise.all(others.map((watch) => begin([watch]))))]);
  }

  /** @throws Refusal cursor_invalid */
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
