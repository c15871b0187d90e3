import type { StatementSync } from 'node:sqlite';
import type { EventPlace } from '../../event-store/event-store.ts';
import { rowCrc } from '../../primitives/sqlite/damage/row-crc.sqlite.ts';
import { LIMIT, SqliteDatabase } from '../../primitives/sqlite/database.sqlite.ts';
import { GroupedReads } from '../../primitives/sqlite/grouped-reads.sqlite.ts';
import { checkIndexes } from './check-indexes.sqlite.ts';
import { SqliteCollection } from './collection.sqlite.ts';
import { sizesOf } from './collection-sizes.sqlite.ts';
import { SqliteCoordination } from '../../coordination/coordination.sqlite.ts';
import { compileFilter, compileMember } from './filter.sqlite.ts';
import { FormerCollections } from '../former-collections/former-collections.sqlite.ts';
import { SqliteVersions } from '../versions/versions.sqlite.ts';
import { Searching } from './search/searching.sqlite.ts';
import type {
  Checkpoint,
  CollectionDefinition,
  Correction,
  DocumentChange,
  Filter,
  FindOptions,
  ReadStore,
  StoredDocument,
} from '../read-store.ts';

const FIND_LIMIT_DEFAULT = 1_000;

/**
 * The embedded read store: one table per collection, indexed members as columns; documents and position in one commit.
 * Searches run in threads of their own.
 */
export class SqliteReadStore implements ReadStore {
  private readonly database: SqliteDatabase;
  private readonly collections = new Map<string, SqliteCollection>();
  private readonly statements = new Map<string, StatementSync>();
  private readonly coordination: SqliteCoordination;
  private readonly former: FormerCollections;
  private readonly stored: SqliteVersions;
  private readonly reads: GroupedReads;
  private readonly searching: Searching;
  private readonly savePosition: StatementSync;
  private readonly loadPosition: StatementSync;

  constructor(file: string) {
    this.database = new SqliteDatabase(file, { synchronous: 'NORMAL', cacheMiB: 64, erases: true });
    this.database.setUp(() => {
      this.database.exec(`
        CREATE TABLE IF NOT EXISTS positions (
          projection TEXT PRIMARY KEY, position INTEGER NOT NULL, crc INTEGER NOT NULL, event TEXT,
          digest TEXT, digest_crc INTEGER
        ) STRICT, WITHOUT ROWID;
      `);
    });
    this.coordination = new SqliteCoordination(this.database);
    this.former = new FormerCollections(this.database);
    this.stored = new SqliteVersions(this.database);
    this.reads = new GroupedReads(this.database);
    this.searching = new Searching(file);
    this.savePosition = this.database.prepare(`
      INSERT INTO positions (projection, position, event, crc) VALUES (?, ?, ?, ?)
      ON CONFLICT (projection) DO UPDATE SET position = excluded.position, crc = excluded.crc,
        event = coalesce(excluded.event, event)
      WHERE excluded.position >= position`);
    this.loadPosition = this.database.prepare('SELECT position, crc FROM positions WHERE projection = ?');
  }

  define(definitions: readonly CollectionDefinition[]): Promise<void> {
    for (const definition of definitions) {
      this.collections.set(definition.name, new SqliteCollection(this.database, definition));
    }
    return Promise.resolve();
  }

  apply(projection: string, changes: readonly DocumentChange[], position: number, event?: EventPlace): Promise<void> {
    return this.database.transaction(() => {
      const byCollection = Map.groupBy(changes, ({ collection }) => collection);
      for (const [name, ofCollection] of byCollection) this.collection(name).put(ofCollection);
      const crc = rowCrc([projection, position]);
      this.savePosition.run(projection, position, event ? placeText(event) : null, crc);
    });
  }

  forgetReplaced(): Promise<void> {
    return this.database.emptyLog();
  }

  correct(name: string, corrections: readonly Correction[]): Promise<void> {
    return this.database.transaction(() => {
      this.collection(name).correct(corrections);
    });
  }

  checkIndexes(name: string, repair: boolean): AsyncIterable<readonly string[]> {
    return checkIndexes(this.database, this.collection(name), repair);
  }

  sizes: ReadStore['sizes'] = (collections) => Promise.resolve(sizesOf(this.database, collections));
  versions: ReadStore['versions'] = () => Promise.resolve(this.stored.all());
  replaceVersions: ReadStore['replaceVersions'] = (...asked) => this.stored.replace(...asked);
  async remove(projection: string, collections: readonly string[]): Promise<void> {
    await this.stored.remove(projection, collections);
    for (const name of collections) this.collections.delete(name);
  }

  formerCollections: ReadStore['formerCollections'] = (current) => Promise.resolve(this.former.list(current));
  removeFromFormer: ReadStore['removeFromFormer'] = (current, userIds) => this.former.remove(current, userIds);

  keepDigest(projection: string, digest: string): Promise<string> {
    const keep = this.statement(`
      INSERT INTO positions (projection, position, crc, digest, digest_crc) VALUES (?, 0, ?, ?, ?)
      ON CONFLICT (projection) DO UPDATE SET digest = coalesce(digest, excluded.digest),
        digest_crc = iif(digest IS NULL, excluded.digest_crc, digest_crc)
      RETURNING digest, digest_crc`);
    return this.database.transaction(() => {
      const row = keep.get(projection, rowCrc([projection, 0]), digest, rowCrc([projection, digest]));
      const kept = row?.['digest'] as string;
      this.database.requireRow([projection, kept], row?.['digest_crc'], `the digest of ${projection}`);
      return kept;
    });
  }

  position(projection: string): Promise<number> {
    const row = this.loadPosition.get(projection);
    return Promise.resolve(row ? this.positionIn(projection, row) : 0);
  }

  checkpoints(): Promise<ReadonlyMap<string, Checkpoint>> {
    const rows = this.statement('SELECT projection, position, event, crc FROM positions').all();
    return Promise.resolve(
      new Map(
        rows.map(({ projection, event, ...row }) => [
          projection as string,
          {
            position: this.positionIn(projection as string, row),
            ...(typeof event === 'string' && { event: this.placeIn(projection as string, event) }),
          },
        ]),
      ),
    );
  }

  async getMany(name: string, ids: readonly string[]): Promise<Map<string, StoredDocument>> {
    const { get, toStored } = this.collection(name);
    const found = (await this.reads.rowsOfEach(get, ids)).map(toStored);
    return new Map(found.map((stored) => [stored.id, stored]));
  }

  find(
    name: string,
    { filter = {}, sort = [], skip = 0, limit = FIND_LIMIT_DEFAULT }: FindOptions,
  ): Promise<StoredDocument[]> {
    const collection = this.collection(name);
    const { where, parameters } = compileFilter(collection.columns, filter);
    const order = sort.map(([member, direction]) => {
      const { sql, parameters: path } = compileMember(collection.columns, member);
      parameters.push(...path);
      return `${sql} ${direction}`;
    });
    const orderBy = order.length === 0 ? '' : `ORDER BY ${order.join(', ')}`;
    const sql = `SELECT ${collection.selected} FROM ${collection.table} ${where} ${orderBy} ${LIMIT} OFFSET ?`;
    const statement = this.statement(sql, () => collection.rows(sql));
    return Promise.resolve(statement.all(...parameters, limit, skip).map(collection.toStored));
  }

  count(name: string, filter: Filter): Promise<number> {
    const collection = this.collection(name);
    const { where, parameters } = compileFilter(collection.columns, filter);
    const row = this.statement(`SELECT count(*) AS count FROM ${collection.table} ${where}`).get(...parameters);
    return Promise.resolve(row?.['count'] as number);
  }

  search: ReadStore['search'] = (name, search, budget) => this.searching.hits(this.collection(name), search, budget);
  countFound: ReadStore['countFound'] = (name, search, budget) =>
    this.searching.count(this.collection(name), search, budget);
  getFound: ReadStore['getFound'] = (name, references, budget) =>
    this.searching.documents(this.collection(name), references, budget);

  lease: ReadStore['lease'] = (...asked) => this.coordination.lease(...asked);
  replaceLease: ReadStore['replaceLease'] = (...asked) => this.coordination.replaceLease(...asked);
  renewLease: ReadStore['renewLease'] = (...asked) => this.coordination.renewLease(...asked);
  addPoints: ReadStore['addPoints'] = (...asked) => this.coordination.addPoints(...asked);
  forgetPoints: ReadStore['forgetPoints'] = (...asked) => this.coordination.forgetPoints(...asked);
  announce: ReadStore['announce'] = (...asked) => this.coordination.announce(...asked);
  announcements: ReadStore['announcements'] = (...asked) => this.coordination.announcements(...asked);
  withdraw: ReadStore['withdraw'] = (...asked) => this.coordination.withdraw(...asked);

  async close(): Promise<void> {
    this.reads.close();
    await this.searching.close();
    this.database.close();
  }

  private positionIn(projection: string, { position, crc }: Record<string, unknown>): number {
    this.database.requireRow([projection, position as number], crc, `the position of ${projection}`);
    return position as number;
  }

  private placeIn(projection: string, text: string): EventPlace {
    const what = `the event of ${projection}`;
    try {
      const { crc, ...place } = JSON.parse(text) as EventPlace & { crc: number };
      this.database.requireRow(valuesOf(place), crc, what);
      return place;
    } catch (error) {
      throw error instanceof SyntaxError ? this.database.damage(`${what} is not JSON`, error) : error;
    }
  }

  private collection(name: string): SqliteCollection {
    const collection = this.collections.get(name);
    if (!collection) throw new Error(`collection ${name} is not defined`);
    return collection;
  }

  private statement(sql: string, prepare = () => this.database.prepare(sql)): StatementSync {
    let statement = this.statements.get(sql);
    if (!statement) {
      statement = prepare();
      this.statements.set(sql, statement);
    }
    return statement;
  }
}

const valuesOf = ({ id, stream, revision, position }: EventPlace) => [id, stream, revision, position];
const placeText = (place: EventPlace) => JSON.stringify({ ...place, crc: rowCrc(valuesOf(place)) });
