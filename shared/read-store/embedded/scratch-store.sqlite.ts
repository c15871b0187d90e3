import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { JsonObject } from '../../../schemas/json.ts';
import { quote } from './filter.sqlite.ts';
import type { DocumentChange, StoredDocument } from '../read-store.ts';

interface Statements {
  put: StatementSync;
  get: StatementSync;
  after: StatementSync;
}

/**
 * Documents that one process needs for a while, more than fit into memory. They are in a file that has no name any more
 * from the start, in the folder for temporary files (`SQLITE_TMPDIR` sets it): nothing is left of them, however the
 * process ends.
 */
export class ScratchStore {
  private readonly database = new DatabaseSync('');
  private readonly collections = new Map<string, Statements>();

  constructor(collections: readonly string[]) {
    this.database.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536');
    for (const name of collections) {
      const table = quote(name);
      this.database.exec(
        `CREATE TABLE ${table} (id TEXT PRIMARY KEY, position INTEGER NOT NULL, document TEXT NOT NULL) STRICT`,
      );
      this.collections.set(name, {
        put: this.database.prepare(
          `INSERT INTO ${table} VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE
           SET position = excluded.position, document = excluded.document`,
        ),
        get: this.database.prepare(`SELECT * FROM ${table} WHERE id = ?`),
        after: this.database.prepare(`SELECT * FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`),
      });
    }
  }

  /** Replaces documents. */
  apply(_projection: string, changes: readonly DocumentChange[]): Promise<void> {
    this.database.exec('BEGIN');
    for (const { collection, id, position, document } of changes)
      this.collection(collection).put.run(id, position, JSON.stringify(document));
    this.database.exec('COMMIT');
    return Promise.resolve();
  }

  getMany(collection: string, ids: readonly string[]): Promise<Map<string, StoredDocument>> {
    const { get } = this.collection(collection);
    const found = ids
      .map((id) => get.get(id))
      .filter((row) => row !== undefined)
      .map(toStored);
    return Promise.resolve(new Map(found.map((stored) => [stored.id, stored])));
  }

  /** Returns documents in the order of ids, from the first one after this id. */
  after(collection: string, id: string, limit: number): StoredDocument[] {
    return this.collection(collection).after.all(id, limit).map(toStored);
  }

  close(): void {
    this.database.close();
  }

  private collection(name: string): Statements {
    const collection = this.collections.get(name);
    if (!collection) throw new Error(`collection ${name} is not defined`);
    return collection;
  }
}

const toStored = (row: Record<string, unknown>): StoredDocument => ({
  id: row['id'] as string,
  position: row['position'] as number,
  document: JSON.parse(row['document'] as string) as JsonObject,
});
