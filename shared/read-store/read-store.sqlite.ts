import type { SQLInputValue, StatementSync } from 'node:sqlite';
import type { JsonObject } from '../../schemas/json.ts';
import type { EventPlace } from '../event-store/event-store.ts';
import { LIMIT, SqliteDatabase } from '../primitives/database.sqlite.ts';
import { GroupedReads } from '../primitives/grouped-reads.sqlite.ts';
import { CountedPoints } from './counted-points.sqlite.ts';
import type {
  Checkpoint,
  CollectionDefinition,
  DocumentChange,
  Filter,
  FindOptions,
  Lease,
  ReadStore,
  StoredDocument,
} from './read-store.ts';

const FIND_LIMIT_DEFAULT = 1_000;

interface Collection {
  table: string;
  /** Members that queries use. Each has a column of its own beside the document. */
  columns: string[];
  upsert: StatementSync;
  get: StatementSync;
}

/**
 * The embedded read store: one table per collection, indexed members as columns; documents and position in one commit.
 */
export class SqliteReadStore implements ReadStore {
  private readonly database: SqliteDatabase;
  private readonly collections = new Map<string, Collection>();
  private readonly statements = new Map<string, StatementSync>();
  private readonly points: CountedPoints;
  private readonly reads: GroupedReads;
  private readonly savePosition: StatementSync;
  private readonly loadPosition: StatementSync;

  constructor(file: string) {
    this.database = new SqliteDatabase(file, { synchronous: 'NORMAL', cacheMiB: 128 });
    this.database.setUp(() => {
      this.database.exec(`
        CREATE TABLE IF NOT EXISTS positions (
          projection TEXT PRIMARY KEY, position INTEGER NOT NULL, event TEXT
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS leases (
          name TEXT PRIMARY KEY, holder TEXT, epoch INTEGER NOT NULL, renewals INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
      `);
      // Positions were once stored without an event.
      if (!this.hasColumn('positions', 'event')) this.database.exec('ALTER TABLE positions ADD COLUMN event TEXT');
    });
    this.points = new CountedPoints(this.database);
    this.reads = new GroupedReads(this.database);
    this.savePosition = this.database.prepare(`
      INSERT INTO positions (projection, position, event) VALUES (?, ?, ?)
      ON CONFLICT (projection) DO UPDATE SET position = excluded.position, event = coalesce(excluded.event, event)
      WHERE excluded.position >= position`);
    this.loadPosition = this.database.prepare('SELECT position FROM positions WHERE projection = ?');
  }

  define(definitions: readonly CollectionDefinition[]): Promise<void> {
    for (const definition of definitions) this.defineOne(definition);
    return Promise.resolve();
  }

  apply(projection: string, changes: readonly DocumentChange[], position: number, event?: EventPlace): Promise<void> {
    return this.database.transaction(() => {
      for (const { collection, id, position: changedAt, document } of changes) {
        const { upsert, columns } = this.collection(collection);
        const values = columns.map((member) => toColumn(document[member]));
        upsert.run(id, changedAt, JSON.stringify(document), ...values);
      }
      this.savePosition.run(projection, position, event ? JSON.stringify(event) : null);
    });
  }

  position(projection: string): Promise<number> {
    return Promise.resolve((this.loadPosition.get(projection)?.['position'] as number | undefined) ?? 0);
  }

  checkpoints(): Promise<ReadonlyMap<string, Checkpoint>> {
    const rows = this.statement('SELECT projection, position, event FROM positions').all();
    return Promise.resolve(
      new Map(
        rows.map(({ projection, position, event }) => [
          projection as string,
          {
            position: position as number,
            ...(typeof event === 'string' && { event: JSON.parse(event) as EventPlace }),
          },
        ]),
      ),
    );
  }

  async getMany(collection: string, ids: readonly string[]): Promise<Map<string, StoredDocument>> {
    const { get } = this.collection(collection);
    const rows = await Promise.all(ids.map((id) => this.reads.rows(get, [id])));
    return new Map(rows.flat().map((row) => [row['id'] as string, toStored(row)]));
  }

  find(
    name: string,
    { filter = {}, sort = [], skip = 0, limit = FIND_LIMIT_DEFAULT }: FindOptions,
  ): Promise<StoredDocument[]> {
    const collection = this.collection(name);
    const { where, parameters } = compileFilter(collection, filter);
    const order = sort.map(([member, direction]) => {
      const { sql, parameters: path } = compileMember(collection, member);
      parameters.push(...path);
      return `${sql} ${direction}`;
    });
    const orderBy = order.length === 0 ? '' : `ORDER BY ${order.join(', ')}`;
    const sql = `SELECT id, position, document FROM ${collection.table} ${where} ${orderBy} ${LIMIT} OFFSET ?`;
    return Promise.resolve(
      this.statement(sql)
        .all(...parameters, limit, skip)
        .map(toStored),
    );
  }

  count(name: string, filter: Filter): Promise<number> {
    const collection = this.collection(name);
    const { where, parameters } = compileFilter(collection, filter);
    const row = this.statement(`SELECT count(*) AS count FROM ${collection.table} ${where}`).get(...parameters);
    return Promise.resolve(row?.['count'] as number);
  }

  lease(name: string): Promise<Lease | undefined> {
    const row = this.statement('SELECT holder, epoch, renewals FROM leases WHERE name = ?').get(name);
    return Promise.resolve(
      row && {
        holder: row['holder'] as string | null,
        epoch: row['epoch'] as number,
        renewals: row['renewals'] as number,
      },
    );
  }

  replaceLease(name: string, expected: Lease | undefined, next: Lease): Promise<boolean> {
    return this.database.transaction(() => {
      const { changes } = expected
        ? this.statement(
            `UPDATE leases SET holder = ?, epoch = ?, renewals = ?
             WHERE name = ? AND holder IS ? AND epoch = ? AND renewals = ?`,
          ).run(next.holder, next.epoch, next.renewals, name, expected.holder, expected.epoch, expected.renewals)
        : this.statement('INSERT INTO leases VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING').run(
            ...[name, next.holder, next.epoch, next.renewals],
          );
      return changes === 1;
    });
  }

  addPoints: ReadStore['addPoints'] = (points, nowMs) => this.points.add(points, nowMs);
  forgetPoints: ReadStore['forgetPoints'] = (nowMs) => this.points.forget(nowMs);

  close(): Promise<void> {
    this.reads.close();
    this.database.close();
    return Promise.resolve();
  }

  private hasColumn(table: string, column: string): boolean {
    const existing = this.database.prepare(`SELECT name FROM pragma_table_info(?)`).all(table);
    return existing.some(({ name }) => name === column);
  }

  private defineOne({ name, indexes }: CollectionDefinition): void {
    const table = quote(name);
    const columns = [...new Set(indexes.flat())];
    this.database.setUp(() => {
      this.database.exec(
        `CREATE TABLE IF NOT EXISTS ${table}
         (id TEXT PRIMARY KEY, position INTEGER NOT NULL, document TEXT NOT NULL) STRICT`,
      );
      for (const member of columns) this.addColumn(table, member);
      for (const members of indexes) {
        const index = quote(`${name} by ${members.join(', ')}`);
        this.database.exec(`CREATE INDEX IF NOT EXISTS ${index} ON ${table} (${members.map(quote).join(', ')})`);
      }
    });
    const all = ['position', 'document', ...columns.map(quote)];
    this.collections.set(name, {
      table,
      columns,
      upsert: this.database.prepare(
        `INSERT INTO ${table} (id, ${all.join(', ')}) VALUES (?${', ?'.repeat(all.length)})
         ON CONFLICT (id) DO UPDATE SET ${all.map((column) => `${column} = excluded.${column}`).join(', ')}
         WHERE excluded.position > ${table}.position`,
      ),
      get: this.database.prepare(`SELECT id, position, document FROM ${table} WHERE id = ?`),
    });
  }

  /** Adds a column for a member that queries did not use before, and fills it from the stored documents. */
  private addColumn(table: string, member: string): void {
    if (this.hasColumn(table.slice(1, -1), member)) return;
    this.database.exec(`ALTER TABLE ${table} ADD COLUMN ${quote(member)} ANY`);
    const { sql, parameters } = extract(`$.${quote(member)}`);
    this.database.prepare(`UPDATE ${table} SET ${quote(member)} = ${sql}`).run(...parameters);
  }

  private collection(name: string): Collection {
    const collection = this.collections.get(name);
    if (!collection) throw new Error(`collection ${name} is not defined`);
    return collection;
  }

  private statement(sql: string): StatementSync {
    let statement = this.statements.get(sql);
    if (!statement) {
      statement = this.database.prepare(sql);
      this.statements.set(sql, statement);
    }
    return statement;
  }
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Represents a list or an object: greater than all text, and equal to no value of a filter. */
const NO_SCALAR = new Uint8Array();

const toColumn = (value: unknown): SQLInputValue => {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'string' || typeof value === 'number') return value;
  return value === null || value === undefined ? null : NO_SCALAR;
};

const toStored = (row: Record<string, unknown>): StoredDocument => ({
  id: row['id'] as string,
  position: row['position'] as number,
  document: JSON.parse(row['document'] as string) as JsonObject,
});

type Range = Exclude<Filter[string], { in: unknown } | string | number | boolean | null>;

interface Compiled {
  sql: string;
  parameters: SQLInputValue[];
}

/** Names are bound, never concatenated: they may come from a caller. */
const compileMember = ({ columns }: Collection, member: string): Compiled => {
  if (member === 'id' || columns.includes(member)) return { sql: quote(member), parameters: [] };
  const path = `$${member
    .split('.')
    .map((name) => `."${name}"`)
    .join('')}`;
  return extract(path);
};

const extract = (path: string): Compiled => ({
  sql: `CASE WHEN json_type(document, ?) IN ('array', 'object') THEN x'' ELSE json_extract(document, ?) END`,
  parameters: [path, path],
});

const OPERATORS = { gte: '>=', lte: '<=', gt: '>', lt: '<' } as const;

const compileFilter = (collection: Collection, filter: Filter): { where: string; parameters: SQLInputValue[] } => {
  const conditions: string[] = [];
  const parameters: SQLInputValue[] = [];
  for (const [member, wanted] of Object.entries(filter)) {
    const { sql, parameters: path } = compileMember(collection, member);
    const compare = (operator: string, bound: SQLInputValue) => {
      conditions.push(`${sql} ${operator} ?`);
      parameters.push(...path, bound);
    };
    if (typeof wanted !== 'object' || wanted === null) {
      compare('IS', toColumn(wanted));
    } else if ('in' in wanted) {
      const values = wanted.in.map(toColumn);
      conditions.push(`${sql} IN (${values.map(() => '?').join(', ')})`);
      parameters.push(...path, ...values);
    } else for (const [operator, bound] of compileRange(wanted)) compare(operator, bound);
  }
  return { where: conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`, parameters };
};

/** SQLite sorts numbers before text before blobs, so an open side of a range ends with the type of the other bound. */
const compileRange = (range: Range): [operator: string, bound: SQLInputValue][] => {
  const bounds = Object.entries(OPERATORS).flatMap(([name, operator]) => {
    const bound = range[name as keyof typeof OPERATORS];
    return bound === undefined ? [] : [[operator, toColumn(bound)] as [string, SQLInputValue]];
  });
  const types = new Set(bounds.map(([, bound]) => typeof bound));
  if (types.size > 1 || types.has('object'))
    return [
      ['IS NOT', null],
      ['IS', null],
    ];
  const isBoundedBy = (sign: string) => bounds.some(([operator]) => operator.startsWith(sign));
  if (types.has('string') && !isBoundedBy('>')) bounds.push(['>=', '']);
  if (types.size > 0 && !isBoundedBy('<')) bounds.push(['<', types.has('string') ? NO_SCALAR : '']);
  return bounds;
};
