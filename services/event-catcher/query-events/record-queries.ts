import type { EventPage } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { EventRecord, RecordStatus } from '../../../schemas/http/event-catcher/event-record.ts';
import { contractKey } from '../../../schemas/topics.ts';
import { readAddressMember } from '../../../shared/chain/identifiers/address.ts';
import type { Projections } from '../../../shared/edge/answers/projections.ts';
import type { AsOf } from '../../../shared/edge/requests/as-of.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { EventStore, Position } from '../../../shared/event-store/event-store.ts';
import { Cursors } from '../../../shared/keys/stream-cursors.ts';
import { SignedText } from '../../../shared/keys/signed-text.ts';
import {
  chainEventsModel,
  recordIn,
  type ChainEventDocument,
} from '../../../shared/read-models/event-catcher/chain-events.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { QueryBudget } from '../../../shared/read-store/query-budget.ts';
import type { Hit, ReadStore } from '../../../shared/read-store/read-store.ts';
import type { EarlierWatches } from '../edge/earlier-watches.ts';
import type { WatchModels } from '../edge/watch-models.ts';
import { answeredState, type AnsweredState } from '../domain/watches/answered-state.ts';
import { selectEvents, type EventQueryParameters, type Selection } from './event-selection.ts';
import { EarlierRecordSearch } from './as-of/earlier-record-search.ts';
import { recordsAsOf, wasReverted } from './as-of/earlier-record.ts';
import { OnePerLog } from './one-per-log.ts';
import { KeptSegments, RecordSearch, type FoundRecords } from './record-search.ts';

const { record } = chainEventsModel.collections;

/** A parsed query. */
export interface RecordQuery {
  search: FoundRecords;
  /** The record after which it begins, if it has a cursor. */
  after: Hit | undefined;
  /** Leaves out records that have changed since the query began: a subscription from its cursor is sent these. */
  recordsOf: (hits: readonly Hit[]) => Promise<EventRecord[]>;
  cursorAfter: (hit: Hit) => string;
  /** The block up to which the answer is true, and the place in the stream after which it continues. */
  answered: Pick<EventPage, 'cursor' | 'head'>;
}

/** Parses queries for records. */
export class RecordQueries {
  private readonly cursors: SignedText;
  private readonly streamCursors: Cursors;
  private readonly keptSegments = new KeptSegments();

  constructor(
    private readonly reads: {
      readStore: ReadStore;
      eventStore: EventStore;
      watchModels: WatchModels;
      earlierWatches: EarlierWatches;
      projections: Projections;
      clock: Pick<Clock, 'now'>;
    },
    edgeKey: Uint8Array,
  ) {
    this.cursors = new SignedText(edgeKey, 'event cursors of places');
    this.streamCursors = new Cursors(edgeKey);
  }

  /**
   * @param showAsOf told the position of the state that is queried, if that is an earlier one
   * @throws Refusal validation_failed, cursor_invalid, watch_not_found, not_caught_up
   */
  async begin(
    given: EventQueryParameters,
    budget: QueryBudget,
    showAsOf: (position: Position) => void,
  ): Promise<RecordQuery> {
    const contractAddress = readAddressMember('contractAddress', given.contractAddress, [given.chainId]);
    const asked = { ...given, contractAddress };
    const { cursor } = asked;
    const { after, asOf = asked.earlier?.position, state } = cursor === undefined ? {} : this.readCursor(cursor, asked);
    if (asOf !== undefined) showAsOf(asOf);
    const { selection, finalized, stateNow } = await this.select(asked, asOf, state);
    const answered = state ?? (await stateNow());
    const { resumePoint, head } = answered;
    const search = await this.searchFor(selection, asOf, budget);
    return {
      search,
      after,
      recordsOf: async (hits) => {
        const documents = (await search.documents(hits)).map(({ document }) => record.document.parse(document));
        if (asOf !== undefined) return this.earlierRecords(documents, selection.reverted, asOf);
        const { position = Infinity } = resumePoint ?? {};
        const { reverted } = selection;
        return documents
          .filter((document) => document.reverted === reverted && wasReverted(document, position) === reverted)
          .map((document) => toRecord(document, finalized));
      },
      cursorAfter: ({ order, reference }) =>
        this.cursors.write(cursorScope(asked), JSON.stringify([order, reference, asOf ?? null, answered])),
      answered: {
        cursor: resumePoint && this.streamCursors.write(contractKey(asked.chainId, contractAddress), resumePoint),
        head,
      },
    };
  }

  private async earlierRecords(
    documents: readonly ChainEventDocument[],
    reverted: boolean,
    asOf: Position,
  ): Promise<EventRecord[]> {
    const there = documents.filter((document) => wasReverted(document, asOf) === reverted);
    const then = await recordsAsOf(this.reads.eventStore, there, asOf);
    return then.map((record) => ({ ...record, Status: reverted ? 'reverted' : 'observed' }));
  }

  /**
   * What was final at an earlier position is not stored, so nothing is.
   * @param state that of the first page, which all pages have
   */
  private async select(asked: EventQueryParameters, asOf: Position | undefined, state: AnsweredState | undefined) {
    const { readStore, watchModels, earlierWatches, projections, clock } = this.reads;
    const { chainId, eventSignature: name, watchId, caller } = asked;
    const selector = { name, watchId, caller };
    if (asOf === undefined) {
      const watches = await watchModels.ofContract(asked, selector);
      const chain = await watchModels.chain(chainId);
      const finalized = state?.finalized ?? chain?.finalized ?? -1;
      const selection = selectEvents(asked, watches, finalized);
      const stateNow = async () => {
        const ids = new Set(selection.watches.map(({ id }) => id));
        const newestAtMs = clock.now();
        return answeredState({
          status: asked.status,
          watches: watches.filter(({ id }) => ids.has(id)),
          chain: await watchModels.withDeferredOf(chain, [...ids]),
          records: { position: await readStore.position(chainEventsModel.name), newestAtMs },
        });
      };
      return { selection, finalized, stateNow };
    }
    await projections.reachedOnce(chainEventsModel.name, asOf);
    const watches = await earlierWatches.ofContract(asked, selector, asOf);
    const resumePoint = asked.status === 'finalized' ? null : { position: asOf, newestAtMs: asked.earlier?.time };
    const stateNow = (): AnsweredState => ({ resumePoint, head: null });
    return { selection: selectEvents(asked, watches, -1), finalized: -1, stateNow };
  }

  private async searchFor(
    selection: Selection,
    asOf: Position | undefined,
    budget: QueryBudget,
  ): Promise<FoundRecords> {
    const options = { ...this.reads, budget, kept: this.keptSegments };
    const begin = (watches: Selection['watches']): Promise<FoundRecords> =>
      asOf === undefined
        ? RecordSearch.begin(options.readStore, { ...selection, watches }, options)
        : EarlierRecordSearch.begin({ ...selection, watches, asOf }, options);
    const [first, ...others] = selection.watches;
    if (!selection.isOnePerLog || !first) return begin(selection.watches);
    return new OnePerLog([await begin([first]), ...(await Promise.all(others.map((watch) => begin([watch]))))]);
  }

  /** @throws Refusal cursor_invalid */
  private readCursor(cursor: string, asked: EventQueryParameters): ReadCursor {
    const text = this.cursors.read(cursorScope(asked), cursor);
    if (!text) throw new Refusal('cursor_invalid', 'the cursor was issued for another contract or order');
    const [order, reference, then, state] = JSON.parse(text.toString()) as CursorMembers;
    const asOf = then ?? undefined;
    const { earlier } = asked;
    if (earlier && !isSameState(earlier, asOf))
      throw new Refusal('cursor_invalid', 'the cursor was issued for another asOf');
    return { after: { order, reference }, asOf, state };
  }
}

/** What cursors have in them. Those of former versions lack the state of the answer. */
type CursorMembers = [order: number, reference: Hit['reference'], asOf?: Position | null, state?: AnsweredState];

interface ReadCursor {
  after: Hit;
  asOf: Position | undefined;
  state: AnsweredState | undefined;
}

/** A time may mean a later position by now: a process whose clock is behind has stored an event. */
const isSameState = ({ position, time }: AsOf, asOf: Position | undefined): boolean =>
  asOf !== undefined && (position === asOf || time !== undefined);

/** A cursor is valid for one contract and order; the other filters may change. */
const cursorScope = ({ chainId, contractAddress, order }: EventQueryParameters): string =>
  `${contractKey(chainId, contractAddress)} ${order}`;

const toRecord = (document: ChainEventDocument, finalized: number): EventRecord => {
  const isFinal = document.BlockNumber <= finalized;
  const Status: RecordStatus = document.reverted ? 'reverted' : isFinal ? 'finalized' : 'observed';
  return { ...recordIn(document), Status };
};
