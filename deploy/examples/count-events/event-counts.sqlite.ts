import type { StatementSync } from 'node:sqlite';
import type { BusBatch, Offsets } from '../../../shared/message-bus/message-bus.ts';
import { SqliteDatabase } from '../../../shared/primitives/database.sqlite.ts';

export interface ContractCounts {
  /** The key of its messages: `eip155:<chainId>/<contract>`. */
  contract: string;
  observed: number;
  reverted: number;
  /** How many are observed and not reverted since. */
  canonical: number;
}

const counted: Partial<Record<string, { observed: number; reverted: number }>> = {
  'annals.ChainEventObserved.v1': { observed: 1, reverted: 0 },
  'annals.ChainEventReverted.v1': { observed: 0, reverted: 1 },
};

/**
 * The counts and the offsets up to which messages are counted. One transaction changes both, so that they agree after a
 * crash. A message may be delivered again: the positions of a key's messages grow, so one that is not newer than the last
 * is not counted.
 */
export class EventCounts {
  private readonly database: SqliteDatabase;
  private readonly count: StatementSync;
  private readonly advance: StatementSync;

  constructor(file: string) {
    // A power cut may undo the last commits. That is harmless, because the offsets are undone with the counts.
    this.database = new SqliteDatabase(file, { synchronous: 'NORMAL', cacheMiB: 8 });
    this.database.exec(`
      CREATE TABLE IF NOT EXISTS counts (
        contract TEXT PRIMARY KEY, observed INTEGER NOT NULL, reverted INTEGER NOT NULL, position INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS offsets ("partition" INTEGER PRIMARY KEY, next INTEGER NOT NULL) STRICT;
    `);
    this.count = this.database.prepare(`
      INSERT INTO counts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
      SET observed = observed + excluded.observed, reverted = reverted + excluded.reverted, position = excluded.position
      WHERE excluded.position > position`);
    this.advance = this.database.prepare(
      'INSERT INTO offsets VALUES (?, ?) ON CONFLICT DO UPDATE SET next = max(next, excluded.next)',
    );
  }

  async take({ partition, messages }: BusBatch): Promise<void> {
    const last = messages.at(-1);
    if (!last) return;
    await this.database.transaction(() => {
      for (const { key, headers } of messages) {
        const change = counted[headers['ce_type'] ?? ''];
        if (change) this.count.run(key, change.observed, change.reverted, Number(headers['ce_position']));
      }
      this.advance.run(partition, BigInt(last.offset) + 1n);
    });
  }

  /** The offsets of the next messages, for the partitions from which messages were counted. */
  next(): Offsets {
    const rows = this.database.prepare('SELECT "partition", CAST(next AS TEXT) AS next FROM offsets').all();
    return new Map(rows.map((row) => [row['partition'] as number, row['next'] as string]));
  }

  /** Contracts with the most canonical events first. */
  all(): ContractCounts[] {
    const rows = this.database
      .prepare('SELECT contract, observed, reverted, observed - reverted AS canonical FROM counts ORDER BY 4 DESC, 1')
      .all();
    return rows.map((row) => ({ ...(row as unknown as ContractCounts) }));
  }

  close(): void {
    this.database.close();
  }
}
