import type { StatementSync } from 'node:sqlite';
import type { JsonObject } from '../../schemas/json.ts';
import type { SqliteDatabase } from '../primitives/database.sqlite.ts';
import type { Announcement } from './read-store.ts';

/** What processes say of themselves. */
export class Announcements {
  private readonly replacement: StatementSync;
  private readonly selection: StatementSync;
  private readonly removal: StatementSync;

  constructor(private readonly database: SqliteDatabase) {
    database.setUp(() => {
      database.exec(`CREATE TABLE IF NOT EXISTS announcements (
        kind TEXT NOT NULL, id TEXT NOT NULL, renewals INTEGER NOT NULL, document TEXT NOT NULL, PRIMARY KEY (kind, id)
      ) STRICT, WITHOUT ROWID`);
    });
    this.replacement = database.prepare('INSERT OR REPLACE INTO announcements VALUES (?, ?, ?, ?)');
    this.selection = database.prepare('SELECT id, renewals, document FROM announcements WHERE kind = ? ORDER BY id');
    this.removal = database.prepare('DELETE FROM announcements WHERE kind = ? AND id = ? AND renewals = ?');
  }

  async announce(kind: string, { id, renewals, document }: Announcement): Promise<void> {
    await this.database.transaction(() => {
      this.replacement.run(kind, id, renewals, JSON.stringify(document));
    });
  }

  of(kind: string): Announcement[] {
    return this.selection.all(kind).map(({ id, renewals, document }) => ({
      id: id as string,
      renewals: renewals as number,
      document: JSON.parse(document as string) as JsonObject,
    }));
  }

  async withdraw(kind: string, { id, renewals }: Pick<Announcement, 'id' | 'renewals'>): Promise<void> {
    await this.database.transaction(() => {
      this.removal.run(kind, id, renewals);
    });
  }
}
