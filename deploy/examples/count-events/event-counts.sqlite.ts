import { hash } from 'node:crypto';
import type { StatementSync } from 'node:sqlite';
import type { BusBatch, Offsets } from '../../../shared/message-bus/message-bus.ts';
import { SqliteDatabase } from '../../../shared/primitives/sqlite/database.sqlite.ts';

export interface ContractCounts {
  /** The key of its messages: `eip155:<chainId>/<contract>`. */
  contract: string;
  /** How many logs are observed and not reverted since, each counted once, whatever number of watches have a record of it. */
  logs: number;
  /** How many records were observed. */
  observed: number;
  reverted: number;
  /** How many records are observed and not reverted since: a log has one in each watch that it matches. */
  records: number;
}

const counted: Partial<Record<string, { observed: number; reverted: number }>> = {
  'annals.ChainEventObserved.v1': { observed: 1, reverted: 0 },
  'annals.ChainEventReverted.v1': { observed: 0, reverted: 1 },
};

const LOG_KEY_BYTES = 12;
/** What a log is known by: so much of the hash of its `Id` that no two logs are likely to share it. */
const keyOfLog = (value: string | null): Uint8Array => {
  const { Id } = JSON.parse(value ?? '{}') as { Id?: unknown };
  if (typeof Id !== 'string') throw new Error('a message of the topic has no Id');
  return hash('sha256', Id, 'buffer').subarray(0, LOG_KEY_BYTES);
};

/**
 * The counts and the offsets up to which messages are counted. One transaction changes both, so that they agree after a
 * crash. A message may be delivered again: the positions of a key's messages grow, so one that is not newer than the last
 * is not counted.
 */
export class EventCounts {
  private readonly database: SqliteDatabase;
  private readonly count: StatementSync;
  private readonly countRecord: StatementSync;
  private readonly countLogs: StatementSync;
  private readonly advance: StatementSync;

  constructor(file: string) {
    // A power cut may undo the last commits. That is harmless, because the offsets are undone with the counts.
    this.database = new SqliteDatabase(file, { synchronous: 'NORMAL', cacheMiB: 8 });
    this.database.exec(`
      CREATE TABLE IF NOT EXISTS contracts (
        contract TEXT PRIMARY KEY, observed INTEGER NOT NULL, reverted INTEGER NOT NULL, position INTEGER NOT NULL,
        logs INTEGER NOT NULL DEFAULT 0
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS logs (log BLOB PRIMARY KEY, records INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS next_offsets ("partition" INTEGER PRIMARY KEY, next INTEGER NOT NULL) STRICT;
    `);
    this.count = this.database.prepare(`
      INSERT INTO contracts VALUES (?, ?, ?, ?, 0) ON CONFLICT DO UPDATE
      SET observed = observed + excluded.observed, reverted = reverted + excluded.reverted, position = excluded.position
      WHERE excluded.position > position`);
    this.countRecord = this.database.prepare(
      'INSERT INTO logs VALUES (?, ?) ON CONFLICT DO UPDATE SET records = records + excluded.records RETURNING records',
    );
    this.countLogs = this.database.prepare('UPDATE contracts SET logs = logs + ? WHERE contract = ?');
    this.advance = this.database.prepare(
      'INSERT INTO next_offsets VALUES (?, ?) ON CONFLICT DO UPDATE SET next = max(next, excluded.next)',
    );
  }

  async take({ partition, messages }: BusBatch): Promise<void> {
    const last = messages.at(-1);
    if (!last) return;
    await this.database.transaction(() => {
      for (const { key, headers, value } of messages) {
        const change = counted[headers['ce_type'] ?? ''];
        if (!change) continue;
        const { changes } = this.count.run(key, change.observed, change.reverted, Number(headers['ce_position']));
        if (changes > 0) this.takeRecord(key, keyOfLog(value), change.observed - change.reverted);
      }
      this.advance.run(partition, BigInt(last.offset) + 1n);
    });
  }

  /** A log counts from its first record on, until its last one is reverted. */
  private takeRecord(contract: string, log: Uint8Array, more: number): void {
    const { records } = this.countRecord.get(log, more) as { records: number };
    const [before, after] = [records - more > 0, records > 0];
    if (before !== after) this.countLogs.run(after ? 1 : -1, contract);
  }

  /** The offsets of the next messages, for the partitions from which messages were counted. */
  next(): Offsets {
    const rows = this.database.prepare('SELECT "partition", CAST(next AS TEXT) AS next FROM next_offsets').all();
    return new Map(rows.map((row) => [row['partition'] as number, row['next'] as string]));
  }

  /** Contracts with the most logs first. */
  all(): ContractCounts[] {
    const rows = this.database
      .prepare(
        'SELECT contract, logs, observed, reverted, observed - reverted AS records FROM contracts ORDER BY logs DESC, 1',
      )
      .all();
    return rows.map((row) => ({ ...(row as unknown as ContractCounts) }));
  }

  close(): void {
    this.database.close();
  }
}
