import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { EventRecord } from '../../../schemas/http/event-record.ts';
import { MASTER_KEY, READ_STORE } from '../../../shared/edge/tokens.ts';
import { QueryBudget } from '../../../shared/read-store/query-budget.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { WatchModels } from '../edge/watch-models.ts';
import type { EventQueryParameters } from './event-selection.ts';
import type { Asker } from './query-events.handler.ts';
import { RecordQueries, type RecordQuery } from './record-queries.ts';

/** Everything that matches, some records at a time. */
export class ExportEvents extends Query<AsyncIterable<EventRecord[]>> {
  constructor(
    readonly asked: EventQueryParameters,
    readonly asker: Asker,
  ) {
    super();
  }
}

const HITS_PER_SEARCH = 2_000;
/** Each may have half a megabyte, and a caller who does not read on lets some wait. */
const RECORDS_AT_A_TIME = 50;

/** An export may take any time. Which final block is known, and so each `Status`, stays as it is when it begins. */
@QueryHandler(ExportEvents)
export class ExportEventsHandler implements IQueryHandler<ExportEvents> {
  private readonly queries: RecordQueries;

  constructor(
    @Inject(READ_STORE) readStore: ReadStore,
    watchModels: WatchModels,
    @Inject(MASTER_KEY) masterKey: Uint8Array,
  ) {
    this.queries = new RecordQueries(readStore, watchModels, masterKey);
  }

  async execute({ asked, asker }: ExportEvents): Promise<AsyncIterable<EventRecord[]>> {
    const budget = new QueryBudget({ caller: asker.userId, signal: asker.ended });
    return everything(await this.queries.begin(asked, budget), asked);
  }
}

async function* everything(
  { search, after: cursor, recordsOf }: RecordQuery,
  { order: direction }: EventQueryParameters,
): AsyncGenerator<EventRecord[]> {
  for (let after = cursor; ;) {
    const hits = await search.hits({ direction, limit: HITS_PER_SEARCH, after });
    for (let from = 0; from < hits.length; from += RECORDS_AT_A_TIME)
      yield await recordsOf(hits.slice(from, from + RECORDS_AT_A_TIME));
    after = hits.at(-1);
    if (hits.length < HITS_PER_SEARCH) return;
  }
}
