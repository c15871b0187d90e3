import type { SqliteDatabase } from '../../primitives/sqlite/database.sqlite.ts';
import { quote } from './filter.sqlite.ts';
import type { CollectionSize } from '../read-store.ts';
import { searchTableNames } from './search/search-table.sqlite.ts';

/** Counts the documents and the pages of collections, with those of their indexes. Reads every page of the file. */
export const sizesOf = (
  database: SqliteDatabase,
  collections: readonly string[],
): ReadonlyMap<string, CollectionSize> => {
  const rows = database
    .prepare(
      `SELECT known.tbl_name AS name, sum(pages.pgsize) AS bytes FROM dbstat AS pages
       JOIN sqlite_schema AS known ON known.name = pages.name WHERE pages.aggregate = TRUE GROUP BY known.tbl_name`,
    )
    .all();
  const bytes = new Map(rows.map((row) => [row['name'] as string, row['bytes'] as number]));
  const sized = collections
    .filter((name) => bytes.has(name))
    .map((name) => {
      const row = database.prepare(`SELECT count(*) AS documents FROM ${quote(name)}`).get();
      const occupied = [name, ...searchTableNames(name)].map((table) => bytes.get(table) ?? 0);
      return [
        name,
        { documents: row?.['documents'] as number, bytes: occupied.reduce((sum, one) => sum + one, 0) },
      ] as const;
    });
  return new Map(sized);
};
