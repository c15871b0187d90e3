import { rowCrc } from '../../primitives/sqlite/damage/row-crc.sqlite.ts';
import type { SqliteDatabase } from '../../primitives/sqlite/database.sqlite.ts';
import { quote } from '../embedded/filter.sqlite.ts';
import { searchTableNames } from '../embedded/search/search-table.sqlite.ts';
import type { StoredVersions } from './stored-versions.ts';

/** The versions of read models, in a table of the read store. */
export class SqliteVersions {
  constructor(private readonly database: SqliteDatabase) {
    database.setUp(() => {
      database.exec(
        'CREATE TABLE IF NOT EXISTS versions (model TEXT PRIMARY KEY, text TEXT NOT NULL, crc INTEGER NOT NULL) STRICT',
      );
    });
  }

  all(): ReadonlyMap<string, StoredVersions> {
    const rows = this.database.prepare('SELECT model, text, crc FROM versions').all() as {
      model: string;
      text: string;
      crc: number;
    }[];
    return new Map(
      rows.map(({ model, text, crc }) => {
        this.database.requireRow([model, text], crc, `the versions of ${model}`);
        return [model, JSON.parse(text) as StoredVersions];
      }),
    );
  }

  replace(model: string, expected: StoredVersions | undefined, next: StoredVersions): Promise<boolean> {
    const text = JSON.stringify(next);
    const crc = rowCrc([model, text]);
    return this.database.transaction(() => {
      const { changes } = expected
        ? this.database
            .prepare('UPDATE versions SET text = ?, crc = ? WHERE model = ? AND text = ?')
            .run(text, crc, model, JSON.stringify(expected))
        : this.database.prepare('INSERT INTO versions VALUES (?, ?, ?) ON CONFLICT DO NOTHING').run(model, text, crc);
      return changes === 1;
    });
  }

  /** Drops the tables of collections, and forgets the checkpoint. */
  remove(projection: string, collections: readonly string[]): Promise<void> {
    return this.database.transaction(() => {
      for (const name of collections.flatMap((one) => [one, ...searchTableNames(one)]))
        this.database.exec(`DROP TABLE IF EXISTS ${quote(name)}`);
      this.database.prepare('DELETE FROM positions WHERE projection = ?').run(projection);
    });
  }
}
