import { isDeepStrictEqual } from 'node:util';
import type { SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { rowCrc } from '../../primitives/sqlite/damage/row-crc.sqlite.ts';
import { LIMIT, type SqliteDatabase } from '../../primitives/sqlite/database.sqlite.ts';
import { extract, quote, toColumn } from './filter.sqlite.ts';
import type { CollectionDefinition, Correction, DocumentChange, StoredDocument } from '../read-store.ts';
import { SearchTable, type Indexed } from './search/search-table.sqlite.ts';

/** A document as it is in the file. */
interface StoredRow extends StoredDocument {
  row: number;
  /** Whether the columns by which queries find it have the values of its members. */
  hasItsColumns: boolean;
}

/** The columns of every collection. All others are members of documents. */
const OWN_COLUMNS = ['id', 'position', 'document', 'crc'];

/**
 * The table of one collection. Members that queries use are columns; a number or text is stored only in its column, not
 * in the document's text. Derived members are not stored at all.
 */
export class SqliteCollection {
  /** The table's name in SQL. */
  readonly table: string;
  readonly columns: readonly string[];
  /** The columns from which `toStored` makes a document. */
  readonly selected: string;
  readonly get: StatementSync;
  readonly terms: SearchTable | undefined;
  private readonly insertion: StatementSync;
  private readonly update: StatementSync;
  private readonly removal: StatementSync;
  private readonly getWithRow: StatementSync;
  private readonly getRow: StatementSync;
  private readonly getRowsAfter: StatementSync;
  private readonly derived: readonly [member: string, of: (document: JsonObject) => JsonValue | undefined][];

  constructor(
    private readonly database: SqliteDatabase,
    { name, indexes, search, derived = {} }: CollectionDefinition,
  ) {
    this.table = quote(name);
    this.derived = Object.entries(derived).flatMap(([member, of]) => (of ? [[member, of]] : []));
    this.database.setUp(() => {
      this.database.exec(
        `CREATE TABLE IF NOT EXISTS ${this.table}
         (id TEXT PRIMARY KEY, position INTEGER NOT NULL, document TEXT NOT NULL, crc INTEGER) STRICT`,
      );
      this.addColumns(name, indexes.flat());
      for (const members of indexes) {
        const index = quote(`${name} by ${members.join(', ')}`);
        this.database.exec(`CREATE INDEX IF NOT EXISTS ${index} ON ${this.table} (${members.map(quote).join(', ')})`);
      }
    });
    this.columns = this.columnsOf(name);
    const all = [...OWN_COLUMNS, ...this.columns.map(quote)];
    const values = all.map(() => '?').join(', ');
    this.selected = all.join(', ');
    this.insertion = database.prepare(
      `INSERT INTO ${this.table} (${this.selected}) VALUES (${values}) ON CONFLICT (id) DO NOTHING`,
    );
    const assigned = all.slice(1).map((column) => `${column} = ?`);
    this.update = database.prepare(`UPDATE ${this.table} SET ${assigned.join(', ')} WHERE rowid = ?`);
    this.removal = database.prepare(`DELETE FROM ${this.table} WHERE rowid = ?`);
    this.get = this.rows(`SELECT ${this.selected} FROM ${this.table} WHERE id = ?`);
    this.getWithRow = this.rows(`SELECT rowid, ${this.selected} FROM ${this.table} WHERE id = ?`);
    this.getRow = this.rows(`SELECT rowid, ${this.selected} FROM ${this.table} WHERE rowid = ?`);
    this.getRowsAfter = this.rows(
      `SELECT rowid, ${this.selected} FROM ${this.table} WHERE rowid > ? ORDER BY rowid ${LIMIT}`,
    );
    this.terms = search && new SearchTable(database, name, search);
  }

  /** Stores each document, unless the stored one is at least as new. */
  put(changes: readonly Pick<DocumentChange, 'id' | 'position' | 'document'>[]): void {
    let indexed = { added: new Map<number, Indexed>(), removed: [] as Indexed[] };
    const store = () => {
      this.terms?.store([...indexed.added.values()], indexed.removed);
      indexed = { added: new Map(), removed: [] };
    };
    for (const { id, position, document } of changes) {
      const values = this.valuesOf(id, position, document);
      const inserted = this.insertion.run(id, ...values);
      if (inserted.changes === 1) {
        const row = Number(inserted.lastInsertRowid);
        indexed.added.set(row, { row, id, document });
        continue;
      }
      const [row, ...selected] = this.getWithRow.get(id) as unknown as [number, ...SQLOutputValue[]];
      const stored = this.toStored(selected);
      if (stored.position >= position) continue;
      this.update.run(...values, row);
      if (indexed.added.has(row)) store();
      indexed.removed.push({ row, id, document: stored.document });
      indexed.added.set(row, { row, id, document });
    }
    store();
  }

  /** Replaces, adds and removes documents whose stored position is still the expected one. */
  correct(corrections: readonly Correction[]): void {
    for (const { id, expected, correct } of corrections) {
      const found = this.getWithRow.get(id) as unknown as [number, ...SQLOutputValue[]] | undefined;
      const [row, ...selected] = found ?? [];
      const stored = row === undefined ? undefined : { row, ...this.toStored(selected) };
      if (stored?.position !== expected) continue;
      if (stored && correct) {
        this.update.run(...this.valuesOf(id, correct.position, correct.document), stored.row);
        this.terms?.store([{ row: stored.row, id, document: correct.document }], [stored]);
      } else if (stored) {
        this.removal.run(stored.row);
        this.terms?.store([], [stored]);
      } else if (correct) {
        this.put([correct]);
      }
    }
  }

  inRow(row: number): StoredRow | undefined {
    const found = this.getRow.get(row);
    return found && this.toRow(found);
  }

  /** Returns documents in the order of their rows. */
  rowsAfter(row: number, limit: number): StoredRow[] {
    return this.getRowsAfter.all(row, limit).map((found) => this.toRow(found));
  }

  /** Stores documents as they are, with their columns and the entries of the search index. */
  storeAgain(stored: readonly StoredRow[]): void {
    for (const { row, id, position, document } of stored)
      this.update.run(...this.valuesOf(id, position, document), row);
    this.terms?.store(stored, stored);
  }

  /** Prepares a statement whose rows are arrays. */
  rows(sql: string): StatementSync {
    const statement = this.database.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  }

  /** Makes a document from the `selected` columns. */
  readonly toStored = (row: unknown): StoredDocument => {
    const [id, position, text, crc, ...values] = row as SQLOutputValue[];
    // A row to which a column was added has no CRC until its document is stored again.
    if (crc !== null)
      this.database.requireRow([id, position, text, ...values] as SQLInputValue[], crc, `a document of ${this.table}`);
    const document = JSON.parse(text as string) as JsonObject;
    for (const [at, member] of this.columns.entries()) {
      const value = values[at];
      if (isInColumn(value) && !Object.hasOwn(document, member)) document[member] = value;
    }
    for (const [member, of] of this.derived)
      if (!Object.hasOwn(document, member)) document[member] = of(document) ?? null;
    return { id: id as string, position: position as number, document };
  };

  private toRow(found: unknown): StoredRow {
    const [row, ...selected] = found as [number, ...SQLOutputValue[]];
    const [stored, values] = [this.toStored(selected), selected.slice(OWN_COLUMNS.length)];
    // Text of which a column has only a part is found by none of it.
    const isAsStored = (member: string, at: number) =>
      (typeof stored.document[member] === 'string' && !isInColumn(stored.document[member])) ||
      isDeepStrictEqual(toColumn(stored.document[member]), values[at]);
    return { row, ...stored, hasItsColumns: this.columns.every(isAsStored) };
  }

  private valuesOf(id: string, position: number, document: JsonObject): SQLInputValue[] {
    const text: Record<string, unknown> = { ...document };
    for (const member of this.columns) if (isInColumn(text[member])) text[member] = undefined;
    for (const [member, of] of this.derived) if (text[member] === of(document)) text[member] = undefined;
    const [json, columns] = [JSON.stringify(text), this.columns.map((member) => toColumn(document[member]))];
    return [position, json, rowCrc([id, position, json, ...columns]), ...columns];
  }

  private columnsOf(name: string): string[] {
    const columns = this.database.prepare('SELECT name FROM pragma_table_info(?)').all(name);
    return columns.map((column) => column['name'] as string).filter((column) => !OWN_COLUMNS.includes(column));
  }

  /** Adds columns for members that queries did not use before, and fills them from the stored documents. */
  private addColumns(name: string, members: readonly string[]): void {
    const known = this.columnsOf(name);
    for (const member of new Set(members)) {
      if (known.includes(member)) continue;
      this.database.exec(`ALTER TABLE ${this.table} ADD COLUMN ${quote(member)} ANY`);
      const { sql, parameters } = extract(`$.${quote(member)}`);
      this.database.prepare(`UPDATE ${this.table} SET ${quote(member)} = ${sql}, crc = NULL`).run(...parameters);
    }
  }
}

/** Whether a column holds the whole value. SQLite stores text as UTF-8, which may end at its first NUL. */
const isInColumn = (value: unknown): value is number | string =>
  typeof value === 'string' ? value.isWellFormed() && !value.includes('\u0000') : typeof value === 'number';
