import type { StatementSync } from 'node:sqlite';
import type { JsonObject } from '../../schemas/json.ts';
import { LIMIT, type SqliteDatabase } from '../primitives/database.sqlite.ts';
import type { SearchIndex, SearchPage } from './read-store.ts';

/** Of so many documents with a term are those looked through for the other terms, at most, to know the rarer term. */
const SAMPLE = 64;

/** The terms of the documents of one collection. */
export class SearchTable {
  private readonly insertions = new Map<number, StatementSync>();
  private readonly deletion: StatementSync;

  constructor(
    private readonly database: SqliteDatabase,
    readonly table: string,
    private readonly index: SearchIndex,
  ) {
    database.setUp(() => {
      // Terms of one segment lie side by side, and those of one term in order.
      database.exec(
        `CREATE TABLE IF NOT EXISTS ${table} (
           segment INTEGER NOT NULL, term INTEGER NOT NULL, place INTEGER NOT NULL, document INTEGER NOT NULL,
           PRIMARY KEY (segment, term, place, document)
         ) STRICT, WITHOUT ROWID`,
      );
    });
    this.deletion = database.prepare(
      `DELETE FROM ${table} WHERE segment = ? AND term = ? AND place = ? AND document = ?`,
    );
  }

  /** @param row the document's own in its collection */
  add(row: number, id: string, document: JsonObject): void {
    this.insert(this.entries(row, id, document));
  }

  replace(row: number, id: string, before: JsonObject, after: JsonObject): void {
    const [old, fresh] = [before, after].map((document) => this.entries(row, id, document)) as [Entry[], Entry[]];
    const has = (entries: readonly Entry[]) => {
      const texts = new Set(entries.map(String));
      return (entry: Entry) => texts.has(String(entry));
    };
    const [isOld, isFresh] = [has(old), has(fresh)];
    for (const entry of old) if (!isFresh(entry)) this.deletion.run(...entry);
    this.insert(fresh.filter((entry) => !isOld(entry)));
  }

  private entries(row: number, id: string, document: JsonObject): Entry[] {
    const segment = this.index.segment(id, document);
    const place = this.index.order(id, document);
    return this.index.terms(id, document).map((term) => [segment, term, place, row]);
  }

  private insert(entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    let statement = this.insertions.get(entries.length);
    if (!statement) {
      const values = entries.map(() => '(?, ?, ?, ?)').join(', ');
      statement = this.database.prepare(`INSERT INTO ${this.table} VALUES ${values}`);
      this.insertions.set(entries.length, statement);
    }
    statement.run(...entries.flat());
  }
}

/** Segment, term, place, row. */
type Entry = [number, number, number, number];

/**
 * A statement that finds the documents of one segment that have all of so many terms. Its parameters are the segment, the
 * least and the greatest place, the terms, place and row of a document that it begins after, if it does, and the limit.
 */
export const searchSql = (
  table: string,
  terms: number,
  { direction, after }: Pick<SearchPage, 'direction' | 'after'>,
): string => {
  const comparison = direction === 'asc' ? '>' : '<';
  const parameter = (at: number) => `?${String(at)}`;
  // The range of places ends with that of the document.
  const isAfter = after
    ? `AND (place ${comparison} ${parameter(terms + 4)} OR document ${comparison} ${parameter(terms + 5)})`
    : '';
  return `SELECT place, document FROM ${table} AS found WHERE ${condition(table, terms)} ${isAfter}
   ORDER BY place ${direction}, document ${direction} ${LIMIT}`;
};

/** A statement that counts them. It has the same parameters but the limit. */
export const countSql = (table: string, terms: number): string =>
  `SELECT count(*) FROM ${table} AS found WHERE ${condition(table, terms)}`;

/** Documents are looked through by the rarest term. */
const condition = (table: string, terms: number): string => {
  const names = Array.from({ length: terms }, (_, at) => `?${String(at + 4)}`);
  const range = 'found.segment = ?1 AND found.place >= ?2 AND found.place <= ?3';
  if (names.length === 1) return `${range} AND found.term = ?4`;
  const amount = (name: string) =>
    `(SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE segment = ?1 AND term = ${name} LIMIT ${String(SAMPLE)}))`;
  const amounts = names.map((name) => `SELECT ${name} AS term, ${amount(name)} AS amount`).join(' UNION ALL ');
  const others = names.map(
    (name) =>
      `EXISTS (SELECT 1 FROM ${table} AS other WHERE other.segment = ?1 AND other.term = ${name}
         AND other.place = found.place AND other.document = found.document)`,
  );
  return `${range} AND found.term = (SELECT term FROM (${amounts}) ORDER BY amount LIMIT 1) AND ${others.join(' AND ')}`;
};
