import type { StatementSync } from 'node:sqlite';
import type { JsonObject } from '../../schemas/json.ts';
import type { SqliteDatabase } from '../primitives/sqlite/database.sqlite.ts';
import type { Announcement, Coordination, Counted, Lease, PointsToAdd } from './coordination.ts';

/** What processes share, in the file of the embedded read store. */
export class SqliteCoordination implements Coordination {
  private readonly selectLease: StatementSync;
  private readonly insertLease: StatementSync;
  private readonly updateLease: StatementSync;
  private readonly addition: StatementSync;
  private readonly deletePoints: StatementSync;
  private readonly replaceAnnouncement: StatementSync;
  private readonly selectAnnouncements: StatementSync;
  private readonly deleteAnnouncement: StatementSync;

  constructor(private readonly database: SqliteDatabase) {
    database.setUp(() => {
      database.exec(`
        CREATE TABLE IF NOT EXISTS leases (
          name TEXT PRIMARY KEY, holder TEXT, epoch INTEGER NOT NULL, renewals INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS points (
          id TEXT PRIMARY KEY, points INTEGER NOT NULL, ends_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS announcements (
          kind TEXT NOT NULL, id TEXT NOT NULL, renewals INTEGER NOT NULL, document TEXT NOT NULL, PRIMARY KEY (kind, id)
        ) STRICT, WITHOUT ROWID;
      `);
    });
    const prepare = (sql: string) => database.prepare(sql);
    this.selectLease = prepare('SELECT holder, epoch, renewals FROM leases WHERE name = ?');
    this.insertLease = prepare('INSERT INTO leases VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING');
    this.updateLease = prepare(
      `UPDATE leases SET holder = ?, epoch = ?, renewals = ?
       WHERE name = ? AND holder IS ? AND epoch = ? AND renewals = ?`,
    );
    this.addition = prepare(
      `INSERT INTO points VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE SET
         points = excluded.points + CASE WHEN ends_at > ?4 THEN points ELSE 0 END,
         ends_at = CASE WHEN ends_at > ?4 THEN ends_at ELSE excluded.ends_at END
       RETURNING points, ends_at AS endsAt`,
    );
    this.deletePoints = prepare('DELETE FROM points WHERE ends_at <= ?');
    this.replaceAnnouncement = prepare('INSERT OR REPLACE INTO announcements VALUES (?, ?, ?, ?)');
    this.selectAnnouncements = prepare('SELECT id, renewals, document FROM announcements WHERE kind = ? ORDER BY id');
    this.deleteAnnouncement = prepare('DELETE FROM announcements WHERE kind = ? AND id = ? AND renewals = ?');
  }

  lease(name: string): Promise<Lease | undefined> {
    const row = this.selectLease.get(name);
    return Promise.resolve(row && ({ ...row } as unknown as Lease));
  }

  replaceLease(name: string, expected: Lease | undefined, { holder, epoch, renewals }: Lease): Promise<boolean> {
    return this.database.transaction(() => {
      const { changes } = expected
        ? this.updateLease.run(
            ...[holder, epoch, renewals],
            ...[name, expected.holder, expected.epoch, expected.renewals],
          )
        : this.insertLease.run(name, holder, epoch, renewals);
      return changes === 1;
    });
  }

  async addPoints(added: readonly PointsToAdd[], nowMs: number): Promise<Map<string, Counted>> {
    if (added.length === 0) return new Map();
    return this.database.transaction(
      () =>
        new Map(
          added.map(({ id, points, windowMs }) => [
            id,
            { ...this.addition.get(id, points, nowMs + windowMs, nowMs) } as unknown as Counted,
          ]),
        ),
    );
  }

  async forgetPoints(nowMs: number): Promise<void> {
    await this.database.transaction(() => this.deletePoints.run(nowMs));
  }

  async announce(kind: string, { id, renewals, document }: Announcement): Promise<void> {
    await this.database.transaction(() => this.replaceAnnouncement.run(kind, id, renewals, JSON.stringify(document)));
  }

  announcements(kind: string): Promise<Announcement[]> {
    const found = this.selectAnnouncements.all(kind).map(({ id, renewals, document }) => ({
      id: id as string,
      renewals: renewals as number,
      document: JSON.parse(document as string) as JsonObject,
    }));
    return Promise.resolve(found);
  }

  async withdraw(kind: string, { id, renewals }: Pick<Announcement, 'id' | 'renewals'>): Promise<void> {
    await this.database.transaction(() => this.deleteAnnouncement.run(kind, id, renewals));
  }
}
