import type { SqliteDatabase } from '../../primitives/sqlite/database.sqlite.ts';
import type { SqliteCollection } from './collection.sqlite.ts';

const ROWS_PER_PART = 500;

/**
 * Compares what finds the documents of a collection with the documents: the entries of the search index, segment by
 * segment, and then the columns of each document and its entries. Each part is of one moment, so nothing has to stand
 * still. Yields what differs: ids of documents, or the place in the index where it belongs to none.
 * @param repair whether each part is made to fit before it is yielded
 */
export async function* checkIndexes(
  database: SqliteDatabase,
  collection: SqliteCollection,
  repair: boolean,
): AsyncGenerator<readonly string[], void, undefined> {
  const { terms } = collection;
  const part = <Result>(work: () => Result): Promise<Result> =>
    repair ? database.transaction(work) : Promise.resolve(database.snapshot(work));
  for (let segment = terms?.segmentAfter(null); terms && segment !== undefined; segment = terms.segmentAfter(segment)) {
    const checked = segment;
    for (let after: number | undefined = 0; after !== undefined;) {
      const from: number = after;
      const { found, last } = await part(() =>
        terms.checkSegment(checked, from, (row) => collection.inRow(row), repair),
      );
      yield found;
      after = last;
    }
  }
  for (let after = 0; ;) {
    const { found, wrong } = await part(() => checkRows(collection, after, repair));
    yield wrong.map(({ id }) => id);
    const last = found.at(-1);
    if (!last || found.length < ROWS_PER_PART) return;
    after = last.row;
  }
}

const checkRows = (collection: SqliteCollection, after: number, repair: boolean) => {
  const found = collection.rowsAfter(after, ROWS_PER_PART);
  const unfound = new Set(collection.terms?.unfound(found));
  const wrong = found.filter((one) => !one.hasItsColumns || unfound.has(one));
  if (repair) collection.storeAgain(wrong);
  return { found, wrong };
};
