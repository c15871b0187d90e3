import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { QueryBudget } from '../../../shared/read-store/query-budget.ts';
import type { EventQueryParameters } from './event-selection.ts';
import type { WrittenFormat } from './export-format.ts';
import type { Asker } from './query-events.handler.ts';
import { RecordQueries, type RecordQuery } from './record-queries.ts';

/** All matching records as text, in parts. */
export class ExportEvents extends Query<AsyncIterable<string>> {
  constructor(
    readonly asked: EventQueryParameters,
    readonly asker: Asker,
    readonly format: WrittenFormat,
  ) {
    super();
  }
}

const HITS_PER_SEARCH = 2_000;
/**
 * How many records are buffered for a caller who stops reading. A record may have half a megabyte; most have a
 * kilobyte.
 */
const CHUNK_CHARACTERS = 128 * 1_024;
const RECORDS_FIRST = 8;
const RECORDS_MAX = 200;

/** An export may take any time. The newest final block, and so each `Status`, stays as it was when the export began. */
@QueryHandler(ExportEvents)
export class ExportEventsHandler implements IQueryHandler<ExportEvents> {
  constructor(private readonly queries: RecordQueries) {}

  async execute({ asked, asker, format }: ExportEvents): Promise<AsyncIterable<string>> {
    const budget = new QueryBudget({ caller: asker.holderKey, signal: asker.ended });
    return everything(await this.queries.begin(asked, budget, asker.showAsOf), asked, format);
  }
}

async function* everything(
  { search, after: cursor, recordsOf }: RecordQuery,
  { order: direction }: EventQueryParameters,
  { head, line }: WrittenFormat,
): AsyncGenerator<string> {
  if (head !== '') yield head;
  let amount = RECORDS_FIRST;
  for (let after = cursor; ;) {
    const hits = await search.hits({ direction, limit: HITS_PER_SEARCH, after });
    for (let from = 0; from < hits.length;) {
      const some = hits.slice(from, from + amount);
      const text = (await recordsOf(some)).map(line).join('');
      if (text !== '') yield text;
      from += some.length;
      const fitting = Math.floor((CHUNK_CHARACTERS * some.length) / Math.max(1, text.length));
      amount = Math.min(RECORDS_MAX, Math.max(1, fitting));
    }
    after = hits.at(-1);
    if (hits.length < HITS_PER_SEARCH) return;
  }
}
