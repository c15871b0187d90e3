import { MongoServerError, type Abortable, type Collection, type Filter } from 'mongodb';
import type { JsonObject } from '../../../schemas/json.ts';
import type { MongoDatabase } from './mongo-database.mongo.ts';
import type { QueryBudget } from '../query-budget.ts';
import { QuerySlots } from '../query-slots.ts';
import { rangeAfter, type ReadStore, type Search, type SearchIndex, type SearchPage } from '../read-store.ts';

/** Fewer than there are connections, so that searches never block other calls. */
const SEARCHES_AT_A_TIME = 8;
const MAX_TIME_MS_EXPIRED = 50;

/** The index entry of a document. Changes only with a new version. */
export interface Searched {
  segment: number;
  order: number;
  terms: readonly number[];
}

interface SearchedDocument {
  _id: string;
  newest: { search?: Searched };
}

const path = (member: keyof Searched) => `newest.search.${member}`;

/** Keeps the terms of one segment together, and the documents of a term in order. */
export const searchIndexKeys = { [path('segment')]: 1, [path('terms')]: 1, [path('order')]: 1, _id: 1 } as const;

export const searched = (index: SearchIndex, id: string, document: JsonObject): Searched => ({
  segment: index.segment(id, document),
  order: index.order(id, document),
  terms: index.terms(id, document),
});

/** Searches in collections. The server ends a search that exceeds its budget, or for which no caller waits any more. */
export class Searching {
  private readonly slots = new QuerySlots(SEARCHES_AT_A_TIME);

  constructor(private readonly database: Pick<MongoDatabase, 'withDeadline'>) {}

  async hits<Document extends SearchedDocument>(
    collection: Collection<Document>,
    { direction, limit, after, ...search }: Parameters<ReadStore['search']>[1],
    budget: QueryBudget,
  ) {
    // MongoDB takes a limit of 0 for no limit, and rejects an empty list of alternatives.
    if (limit === 0 || search.anyOf.length === 0) return [];
    const sign = direction === 'asc' ? 1 : -1;
    return this.call(budget, (bounds) =>
      collection
        .find(isAfter({ ...search, ...rangeAfter(search, direction, after) }, direction, after), {
          ...bounds,
          hint: searchIndexKeys,
          sort: { [path('order')]: sign, _id: sign },
          projection: { [path('order')]: 1 },
          limit,
          batchSize: limit,
        })
        .toArray(),
    );
  }

  async count<Document extends SearchedDocument>(
    collection: Collection<Document>,
    search: Search,
    budget: QueryBudget,
  ) {
    if (search.anyOf.length === 0) return 0;
    return this.call(budget, (bounds) =>
      collection.countDocuments(condition(search), { ...bounds, hint: searchIndexKeys }),
    );
  }

  documents<Document extends SearchedDocument>(
    collection: Collection<Document>,
    ids: readonly string[],
    budget: QueryBudget,
  ) {
    return this.call(budget, (bounds) =>
      collection
        .find({ _id: { $in: [...ids] } } as Filter<Document>, { ...bounds, batchSize: ids.length + 1 })
        .toArray(),
    );
  }

  private async call<Answer>(
    budget: QueryBudget,
    ask: (bounds: { maxTimeMS: number } & Abortable) => Promise<Answer>,
  ): Promise<Answer> {
    // A timeout of a search says nothing about whether the server can be reached.
    const answer = await this.slots.run(budget, () =>
      this.database.withDeadline(ask({ maxTimeMS: budget.leftMs, signal: budget.signal }).catch(ifTooLong)),
    );
    if (answer instanceof TooLong) throw budget.tooLong(answer.cause);
    return answer;
  }
}

class TooLong {
  constructor(readonly cause: unknown) {}
}

const ifTooLong = (error: unknown): TooLong => {
  if (error instanceof MongoServerError && error.code === MAX_TIME_MS_EXPIRED) return new TooLong(error);
  throw error;
};

const condition = <Document>({ anyOf, from, to }: Search): Filter<Document> => {
  const byTerms = Map.groupBy(anyOf, ({ terms }) => terms.join());
  const alternatives = Array.from(byTerms.values(), (alike) => ({
    [path('segment')]: { $in: alike.map(({ segment }) => segment) },
    [path('terms')]: termsOf(alike[0]?.terms ?? []),
    [path('order')]: { $gte: from, $lte: to },
  }));
  const [only, ...others] = alternatives;
  return (others.length === 0 && only ? only : { $or: alternatives }) as Filter<Document>;
};

const isAfter = <Document>(
  search: Search,
  direction: SearchPage['direction'],
  after: SearchPage['after'],
): Filter<Document> => {
  if (!after) return condition(search);
  const comparison = direction === 'asc' ? '$gt' : '$lt';
  const others = [{ [path('order')]: { [comparison]: after.order } }, { _id: { [comparison]: after.reference } }];
  return { ...condition(search), $and: [{ $or: others }] };
};

const termsOf = (terms: readonly number[]) => (terms.length === 1 ? terms[0] : { $all: [...terms] });
