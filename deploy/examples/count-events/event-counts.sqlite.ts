import type { StatementSync } from 'node:sqlite';
import type { BusBatch, Offsets } from '../../../shared/message-bus/message-bus.ts';
import { SqliteDatabase } from '../../../shared/primitives/database.sqlite.ts';

export interface ContractCounts {
  /** As the topic's key: `eip155:<chainId>/<contract>`. */
  contract: string;
  observed: number;
  reverted: number;
  /** Observed, and not reverted since. */
  standing: number;
}

const counted: Partial<Record<string, { observed: number; reverted: number }>> = {
  'annals.ChainEventObserved.v1': { observed: 1, reverted: 0 },
  'annals.ChainEventReverted.v1': { observed: 0, reverted: 1 },
};

/**
 * Counts, and how far in the topic they have come: one transaction changes both, so that a crash leaves neither behind.
 * A message may come again. Its key's messages have growing positions, so what is not newer than the last is not counted.
 */
export class EventCounts {
  private readonly database: SqliteDatabase;
  private readonly count: StatementSync;
  private readonly advance: StatementSync;

  constructor(file: string) {
    // A commit that a power cut takes back takes the offset back too.
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

  take({ partition, messages }: BusBatch): void {
    const last = messages.at(-1);
    if (!last) return;
    this.database.transaction(() => {
      for (const { key, headers } of messages) {
        const change = counted[headers['ce_type'] ?? ''];
        if (change) this.count.run(key, change.observed, change.reverted, Number(headers['ce_position']));
      }
      this.advance.run(partition, BigInt(last.offset) + 1n);
    });
  }

  /** Where to go on, in the partitions that anything came from. */
  next(): Offsets {
    const rows = this.database.prepare('SELECT "partition", CAST(next AS TEXT) AS next FROM offsets').all();
    return new Map(rows.map((row) => [row['partition'] as number, row['next'] as string]));
  }

  /** The most standing first. */
  all(): ContractCounts[] {
    const rows = this.database
      .prepare('SELECT contract, observed, reverted, observed - reverted AS standing FROM counts ORDER BY 4 DESC, 1')
      .all();
    return rows.map((row) => ({ ...(row as unknown as ContractCounts) }));
  }

  close(): void {
    this.database.close();
  }
}
