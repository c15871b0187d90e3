import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { EventPage } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { QueryBudget } from '../../../shared/read-store/query-budget.ts';
import type { EventQueryParameters } from './event-selection.ts';
import { RecordQueries } from './record-queries.ts';
import { KeptCounts } from './record-search.ts';

export interface Asker {
  holderKey: string;
  /** Aborts when nobody waits for the answer any more. */
  ended: AbortSignal;
  /** Told the position of the answer's state, if that is an earlier one. */
  showAsOf: (position: Position) => void;
}

export class QueryEvents extends Query<EventPage> {
  constructor(
    readonly asked: EventQueryParameters,
    readonly asker: Asker,
  ) {
    super();
  }
}

/** The time for the search: the answer must begin within 5 s, and other reads take some of them. */
const QUERY_WITHIN_MS = 4_000;

@QueryHandler(QueryEvents)
export class QueryEventsHandler implements IQueryHandler<QueryEvents> {
  private readonly keptCounts = new KeptCounts();

  constructor(private readonly queries: RecordQueries) {}

  async execute({ asked, asker }: QueryEvents): Promise<EventPage> {
    const { take, skip, order: direction } = asked;
    const budget = new QueryBudget({ caller: asker.holderKey, withinMs: QUERY_WITHIN_MS, signal: asker.ended });
    const { search, after, recordsOf, cursorAfter, answered } = await this.queries.begin(asked, budget, asker.showAsOf);
    const limit = skip + take + 1;
    const hits = await search.hits({ direction, limit, after });
    const isEverything = after === undefined && hits.length < limit;
    const total = isEverything ? hits.length : await search.total(this.keptCounts);
    const shown = hits.slice(skip, skip + take);
    const last = shown.at(-1);
    return {
      items: await recordsOf(shown),
      take,
      skip,
      total,
      next: hits.length > skip + take && last ? cursorAfter(last) : null,
      ...answered,
    };
  }
}
