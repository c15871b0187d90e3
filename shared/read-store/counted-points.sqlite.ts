import type { StatementSync } from 'node:sqlite';
import type { SqliteDatabase } from '../primitives/database.sqlite.ts';
import type { Counted, PointsToAdd } from './read-store.ts';

/** What callers used up of limits. */
export class CountedPoints {
  private readonly addition: StatementSync;
  private readonly removal: StatementSync;

  constructor(private readonly database: SqliteDatabase) {
    database.setUp(() => {
      database.exec(`CREATE TABLE IF NOT EXISTS points (
        id TEXT PRIMARY KEY, points INTEGER NOT NULL, ends_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID`);
    });
    this.addition = database.prepare(
      `INSERT INTO points VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE SET
         points = excluded.points + CASE WHEN ends_at > ?4 THEN points ELSE 0 END,
         ends_at = CASE WHEN ends_at > ?4 THEN ends_at ELSE excluded.ends_at END
       RETURNING points, ends_at`,
    );
    this.removal = database.prepare('DELETE FROM points WHERE ends_at <= ?');
  }

  async add(added: readonly PointsToAdd[], nowMs: number): Promise<Map<string, Counted>> {
    const counted = new Map<string, Counted>();
    if (added.length === 0) return counted;
    await this.database.transaction(() => {
      for (const { id, points, windowMs } of added) {
        const row = this.addition.get(id, points, nowMs + windowMs, nowMs);
        counted.set(id, { points: row?.['points'] as number, endsAt: row?.['ends_at'] as number });
      }
    });
    return counted;
  }

  async forget(nowMs: number): Promise<void> {
    await this.database.transaction(() => {
      this.removal.run(nowMs);
    });
  }
}
