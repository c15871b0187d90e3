import type { SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { rowCrc } from '../primitives/damage/row-crc.sqlite.ts';
import type { SqliteDatabase } from '../primitives/database.sqlite.ts';
import { extract, quote, toColumn } from './filter.sqlite.ts';
import type { CollectionDefinition, DocumentChange, StoredDocument } from './read-store.ts';
import { SearchTable, type Indexed } from './search-table.sqlite.ts';

/** The columns that every collection has; the others are members of documents. */
const OWN_COLUMNS = ['id', 'position', 'document', 'crc'];

/**
 * The table of one collection. Members that queries use are columns beside the document; a number or text is stored there
 * only, and not in the document's text; and a member that follows from others is nowhere.
 */
export class SqliteCollection {
  /** The table's name in SQL. */
  readonly table: string;
  readonly columns: readonly string[];
  /** What to select of the rows that become documents. */
  readonly selected: string;
  readonly get: StatementSync;
  readonly terms: SearchTable | undefined;
  private readonly insertion: StatementSync;
  private readonly update: StatementSync;
  private readonly getWithRow: StatementSync;
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
         (id TEXT PRIMARY KEY, position INTEGER NOT NULL, document TEXT NOT NULL) STRICT`,
      );
      // Rows had no CRC once.
      this.database.addColumn(name, 'crc', 'INTEGER');
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
    this.get = this.rows(`SELECT ${this.selected} FROM ${this.table} WHERE id = ?`);
    this.getWithRow = this.rows(`SELECT rowid, ${this.selected} FROM ${this.table} WHERE id = ?`);
    this.terms = search && new SearchTable(database, name, search);
  }

  /** Stores each document, unless the stored one is as new. */
  put(changes: readonly DocumentChange[]): void {
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

  /** A statement whose rows are arrays. */
  rows(sql: string): StatementSync {
    const statement = this.database.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  }

  /** Makes a document of what was selected. */
  readonly toStored = (row: unknown): StoredDocument => {
    const [id, position, text, crc, ...values] = row as SQLOutputValue[];
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

/** Whether a column says all of a value. Text of SQLite is UTF-8, and may end at its first NUL. */
const isInColumn = (value: unknown): value is number | string =>
  typeof value === 'string' ? value.isWellFormed() && !value.includes('\u0000') : typeof value === 'number';
