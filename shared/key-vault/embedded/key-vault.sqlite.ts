import type { StatementSync } from 'node:sqlite';
import { unavailable, Refusal } from '../../errors/refusal.ts';
import { rowCrc } from '../../primitives/sqlite/damage/row-crc.sqlite.ts';
import { LIMIT, SqliteDatabase } from '../../primitives/sqlite/database.sqlite.ts';
import { foreignCheck, type KeyVault, type NewVaultKey, type VaultIdentity, type VaultKey } from '../key-vault.ts';

const COLUMNS = 'id, sealed, created_at AS createdAt, destroyed_at AS destroyedAt, crc';

/** Maximum keys checked when the vault is opened, which takes less than half a second. */
const CHECKED_KEYS_MAX = 100_000;

interface PendingAdd {
  keys: readonly NewVaultKey[];
  check: string | undefined;
  resolve: (keys: VaultKey[]) => void;
  reject: (error: unknown) => void;
}

/** The embedded key vault: one SQLite file. Keys added in one tick share a commit. */
export class SqliteKeyVault implements KeyVault {
  private readonly database: SqliteDatabase;
  private readonly insert: StatementSync;
  private readonly select: StatementSync;
  private readonly selectMany: StatementSync;
  private readonly replace: StatementSync;
  private readonly page: StatementSync;
  private readonly selectIdentity: StatementSync;
  private readonly replaceIdentity: StatementSync;
  private pending: PendingAdd[] = [];

  constructor(file: string) {
    this.database = new SqliteDatabase(file, { synchronous: 'FULL', cacheMiB: 8, erases: true });
    this.database.setUp(() => {
      this.database.exec(`
      CREATE TABLE IF NOT EXISTS keys (
        id TEXT PRIMARY KEY, sealed TEXT, created_at TEXT NOT NULL, destroyed_at TEXT, crc INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS identity (
        only INTEGER PRIMARY KEY CHECK (only = 1), vault_id TEXT NOT NULL, check_value TEXT NOT NULL, is_rewrapping INTEGER NOT NULL,
        crc INTEGER NOT NULL
      ) STRICT;
    `);
    });
    const prepare = (sql: string) => this.database.prepare(sql);
    this.insert = prepare('INSERT INTO keys VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING');
    this.select = prepare(`SELECT ${COLUMNS} FROM keys WHERE id = ?`);
    this.selectMany = prepare(`SELECT ${COLUMNS} FROM keys WHERE id IN (SELECT value FROM json_each(?))`);
    this.replace = prepare('INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?)');
    this.page = prepare(`SELECT ${COLUMNS} FROM keys WHERE id > ? ORDER BY id ${LIMIT}`);
    this.selectIdentity = prepare(
      'SELECT vault_id AS vaultId, check_value AS "check", is_rewrapping AS isRewrapping, crc FROM identity',
    );
    this.replaceIdentity = prepare(
      'INSERT OR REPLACE INTO identity (only, vault_id, check_value, is_rewrapping, crc) VALUES (1, ?, ?, ?, ?)',
    );
    // A key whose id the disk changed would not be found later, and so never be checked.
    for (const row of this.page.iterate('', CHECKED_KEYS_MAX)) this.toKey(row);
  }

  identity(): Promise<VaultIdentity | undefined> {
    return Promise.resolve(this.readIdentity());
  }

  identify(identity: VaultIdentity, checkBefore: string | undefined): Promise<VaultIdentity> {
    return this.transaction(() => {
      const { vaultId, check, isRewrapping } = identity;
      const row = [vaultId, check, isRewrapping ? 1 : 0];
      if (this.readIdentity()?.check === checkBefore) this.replaceIdentity.run(...row, rowCrc(row));
      const stored = this.readIdentity();
      if (!stored) throw foreignCheck();
      return stored;
    });
  }

  add(keys: readonly NewVaultKey[], check: string | undefined): Promise<VaultKey[]> {
    const { promise, resolve, reject } = Promise.withResolvers<VaultKey[]>();
    if (this.pending.length === 0) {
      setImmediate(() => {
        void this.addPending();
      });
    }
    this.pending.push({ keys, check, resolve, reject });
    return promise;
  }

  get(ids: readonly string[]): Promise<ReadonlyMap<string, VaultKey>> {
    const rows = this.selectMany.all(JSON.stringify(ids)).map(this.toKey);
    return Promise.resolve(new Map(rows.map((key) => [key.id, key])));
  }

  async destroy(id: string, at: string): Promise<void> {
    await this.transaction(() => {
      const { createdAt, destroyedAt } = this.find(id) ?? { createdAt: at, destroyedAt: null };
      if (destroyedAt === null) this.replace.run(...rowOf({ id, sealed: null, createdAt, destroyedAt: at }));
    });
    await this.database.emptyLog();
  }

  reseal(id: string, before: string, sealed: string): Promise<boolean> {
    return this.transaction(() => {
      const key = this.find(id);
      if (key?.sealed !== before) return false;
      this.replace.run(...rowOf({ ...key, sealed }));
      return true;
    });
  }

  list(after: string, limit: number): Promise<VaultKey[]> {
    return Promise.resolve(this.page.all(after, limit).map(this.toKey));
  }

  /** The lock of the data folder ensures this. */
  use(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.database.close();
    return Promise.resolve();
  }

  private async addPending(): Promise<void> {
    const adds = this.pending;
    this.pending = [];
    try {
      const added = await this.transaction(() => {
        const stored = this.readIdentity()?.check;
        return adds.map(({ keys, check }) => check === stored && keys.map((key) => this.addOne(key)));
      });
      for (const [at, { resolve, reject }] of adds.entries()) {
        const found = added[at];
        if (found) resolve(found);
        else reject(foreignCheck());
      }
    } catch (error) {
      for (const { reject } of adds) reject(error);
    }
  }

  private readIdentity(): VaultIdentity | undefined {
    const row = this.selectIdentity.get();
    if (!row) return undefined;
    const { vaultId = null, check = null, isRewrapping = null, crc } = row;
    this.database.requireRow([vaultId, check, isRewrapping], crc, 'what tells this vault from others');
    return { vaultId: vaultId as string, check: check as string, isRewrapping: isRewrapping === 1 };
  }

  private addOne({ id, sealed, createdAt }: NewVaultKey): VaultKey {
    this.insert.run(...rowOf({ id, sealed, createdAt, destroyedAt: null }));
    return this.toKey(this.select.get(id));
  }

  private find(id: string): VaultKey | undefined {
    const row = this.select.get(id);
    return row && this.toKey(row);
  }

  private readonly toKey = (row: unknown): VaultKey => {
    const { crc, ...key } = row as VaultKey & { crc: number };
    this.database.requireRow(valuesOf(key), crc, `the key ${key.id}`);
    return key;
  };

  private async transaction<Result>(work: () => Result): Promise<Result> {
    try {
      return await this.database.transaction(work);
    } catch (cause) {
      throw cause instanceof Refusal ? cause : unavailable('the key vault cannot write', cause);
    }
  }
}

const valuesOf = ({ id, sealed, createdAt, destroyedAt }: VaultKey) => [id, sealed, createdAt, destroyedAt];
const rowOf = (key: VaultKey) => [...valuesOf(key), rowCrc(valuesOf(key))];
