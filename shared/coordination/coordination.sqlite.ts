import type { StatementSync } from 'node:sqlite';
import type { JsonObject } from '../../schemas/json.ts';
import { hasEnded, THIS_PROCESS } from '../loops/lease-holder.ts';
import { systemClock, type Clock } from '../primitives/clock.ts';
import type { SqliteDatabase } from '../primitives/sqlite/database.sqlite.ts';
import type { Announcement, Coordination, Counted, Lease, PointsToAdd } from './coordination.ts';

/** For how long a process counts as an observer after it noted that it reads leases or announcements. */
const OBSERVES_MS = 600_000;

/**
 * What processes share, in the file of the embedded read store. Renewals are written only while another process reads
 * leases or announcements: a process that has the file alone writes nothing while nothing happens.
 */
export class SqliteCoordination implements Coordination {
  private readonly selectLease: StatementSync;
  private readonly insertLease: StatementSync;
  private readonly updateLease: StatementSync;
  private readonly renewal: StatementSync;
  private readonly addition: StatementSync;
  private readonly deletePoints: StatementSync;
  private readonly replaceAnnouncement: StatementSync;
  private readonly selectAnnouncements: StatementSync;
  private readonly deleteAnnouncement: StatementSync;
  private readonly selectDocument: StatementSync;
  private readonly selectOthers: StatementSync;
  private readonly replaceObserver: StatementSync;
  private readonly deleteObservers: StatementSync;
  private observesUntil = 0;

  constructor(
    private readonly database: SqliteDatabase,
    private readonly process: string = THIS_PROCESS,
    private readonly clock: Pick<Clock, 'now'> = systemClock,
  ) {
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
        CREATE TABLE IF NOT EXISTS observers (
          process TEXT PRIMARY KEY, until INTEGER NOT NULL
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
    this.renewal = prepare(
      `UPDATE leases SET renewals = renewals + 1 WHERE name = ? AND holder IS ? AND epoch = ?
       RETURNING holder, epoch, renewals`,
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
    // An announcement that was not stored with its newest renewal is withdrawn too.
    this.deleteAnnouncement = prepare('DELETE FROM announcements WHERE kind = ? AND id = ? AND renewals <= ?');
    this.selectDocument = prepare('SELECT document FROM announcements WHERE kind = ? AND id = ?');
    this.selectOthers = prepare('SELECT process FROM observers WHERE process <> ? AND until > ?');
    this.replaceObserver = prepare('INSERT OR REPLACE INTO observers VALUES (?, ?)');
    this.deleteObservers = prepare('DELETE FROM observers WHERE until <= ?');
  }

  async lease(name: string): Promise<Lease | undefined> {
    await this.observe();
    return leaseIn(this.selectLease.get(name));
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

  async renewLease(name: string, { holder, epoch }: Pick<Lease, 'holder' | 'epoch'>): Promise<Lease | undefined> {
    if (holder !== this.process || this.isObserved())
      return this.database.transaction(() => leaseIn(this.renewal.get(name, holder, epoch)));
    const stored = leaseIn(this.selectLease.get(name));
    return stored?.holder === holder && stored.epoch === epoch ? stored : undefined;
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
    const text = JSON.stringify(document);
    const isRenewal = id === this.process && this.selectDocument.get(kind, id)?.['document'] === text;
    if (isRenewal && !this.isObserved()) return;
    await this.database.transaction(() => this.replaceAnnouncement.run(kind, id, renewals, text));
  }

  async announcements(kind: string): Promise<Announcement[]> {
    await this.observe();
    return this.selectAnnouncements.all(kind).map(({ id, renewals, document }) => ({
      id: id as string,
      renewals: renewals as number,
      document: JSON.parse(document as string) as JsonObject,
    }));
  }

  async withdraw(kind: string, { id, renewals }: Pick<Announcement, 'id' | 'renewals'>): Promise<void> {
    await this.database.transaction(() => this.deleteAnnouncement.run(kind, id, renewals));
  }

  /**
   * Notes that this process reads what other processes renew. It notes that before it reads: the silence of a holder
   * that it measures begins after the holder can know of the observer.
   */
  private async observe(): Promise<void> {
    const nowMs = this.clock.now();
    const leftMs = this.observesUntil - nowMs;
    // The clock of the machine may have been set back meanwhile.
    if (leftMs > OBSERVES_MS / 2 && leftMs <= OBSERVES_MS) return;
    const until = nowMs + OBSERVES_MS;
    await this.database.transaction(() => {
      this.deleteObservers.run(nowMs);
      this.replaceObserver.run(this.process, until);
    });
    this.observesUntil = until;
  }

  private isObserved(): boolean {
    return this.selectOthers.all(this.process, this.clock.now()).some(({ process }) => !hasEnded(process as string));
  }
}

const leaseIn = (row: Record<string, unknown> | undefined): Lease | undefined =>
  row && ({ ...row } as unknown as Lease);
