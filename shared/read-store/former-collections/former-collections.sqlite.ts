import type { SQLInputValue } from 'node:sqlite';
import type { SqliteDatabase } from '../../primitives/sqlite/database.sqlite.ts';
import { quote } from '../embedded/filter.sqlite.ts';
import { REMOVED_AT_ONCE, SAMPLED, type FormerCollection } from './former-collection.ts';

/** Rows scanned per transaction, which takes some milliseconds. */
const ROWS_AT_ONCE = 5_000;
const MEMBER = `CASE WHEN json_valid(document) THEN json_extract(document, '$.userId') END`;

/** The tables of collections that no definition names any more. */
export class FormerCollections {
  constructor(private readonly database: SqliteDatabase) {}

  list(current: readonly string[]): FormerCollection[] {
    return this.names(current).map((name) => {
      const [found] = this.rows(`SELECT count(*) AS documents FROM ${quote(name)}`);
      return { name, documents: found?.['documents'] as number };
    });
  }

  async remove(current: readonly string[], userIds: readonly string[]): Promise<void> {
    const ids = JSON.stringify(userIds);
    for (const name of this.names(current)) {
      await this.removeFound(name, 'id', ids);
      if (this.hasColumn(name)) await this.removeFound(name, 'userId', ids);
      else if (this.hasMember(name)) await this.removeByMember(name, ids);
    }
  }

  /** Removes by a column with an index. */
  private async removeFound(name: string, column: string, ids: string): Promise<void> {
    const table = quote(name);
    const removal = this.database.prepare(
      `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table}
       WHERE ${column} IN (SELECT value FROM json_each(?)) LIMIT ${String(REMOVED_AT_ONCE)})`,
    );
    const remove = () => Number(removal.run(ids).changes);
    while ((await this.database.transaction(remove)) === REMOVED_AT_ONCE);
  }

  private async removeByMember(name: string, ids: string): Promise<void> {
    const table = quote(name);
    const last = this.rows(`SELECT max(rowid) AS last FROM ${table}`)[0]?.['last'] as number;
    const removal = this.database.prepare(
      `DELETE FROM ${table} WHERE rowid > ? AND rowid <= ? AND ${MEMBER} IN (SELECT value FROM json_each(?))`,
    );
    for (let from = 0; from < last; from += ROWS_AT_ONCE) {
      await this.database.transaction(() => removal.run(from, from + ROWS_AT_ONCE, ids));
      await new Promise(setImmediate);
    }
  }

  /** Tables of collections have these columns; no other table of the store has them. */
  private names(current: readonly string[]): string[] {
    const found = this.rows(
      `SELECT name FROM sqlite_schema AS known WHERE type = 'table' AND name NOT IN (SELECT value FROM json_each(?))
       AND (SELECT count(*) FROM pragma_table_info(known.name) WHERE name IN ('id', 'position', 'document')) = 3
       ORDER BY name`,
      JSON.stringify(current),
    );
    return found.map(({ name }) => name as string);
  }

  private hasColumn(name: string): boolean {
    return this.rows(`SELECT 1 FROM pragma_table_info(?) WHERE name = 'userId'`, name).length > 0;
  }

  private hasMember(name: string): boolean {
    const newest = `SELECT ${MEMBER} AS userId FROM ${quote(name)} ORDER BY rowid DESC LIMIT ${String(SAMPLED)}`;
    return this.rows(`SELECT 1 FROM (${newest}) WHERE userId IS NOT NULL LIMIT 1`).length > 0;
  }

  private rows(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[] {
    return this.database.prepare(sql).all(...values);
  }
}
