import type { StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { Topic } from '../../schemas/topics.ts';
import { Refusal } from '../errors/refusal.ts';
import { SqliteDatabase } from '../sqlite/database.sqlite.ts';
import type { BusBatch, BusMessage, MessageBus, MessageToPublish, Offsets } from './message-bus.ts';

const BATCH_MESSAGES_MAX = 1_000;
const PRUNE_EVERY_MS = 60_000;

/**
 * The embedded message bus: one table; a message's offset is its row, so offsets grow over all partitions.
 * What is older than a topic's retention is deleted; compacted topics keep everything, which compaction allows.
 */
export class SqliteMessageBus implements MessageBus {
  private readonly database: SqliteDatabase;
  private readonly insert: StatementSync;
  private readonly since: StatementSync;
  private readonly after: StatementSync;
  private readonly firstOffset: StatementSync;
  private readonly nextOffset: StatementSync;
  private readonly prunedAt = new Map<string, number>();

  constructor(file: string) {
    this.database = new SqliteDatabase(file, { synchronous: 'FULL', cacheMiB: 32 });
    this.database.exec(`
      CREATE TABLE IF NOT EXISTS topics (name TEXT PRIMARY KEY, partitions INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS messages (
        "offset" INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL, "partition" INTEGER NOT NULL,
        "key" TEXT NOT NULL, headers TEXT NOT NULL, value TEXT, timestamp INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX IF NOT EXISTS messages_by_time ON messages (topic, timestamp, "partition");
    `);
    const prepare = (sql: string) => this.database.prepare(sql);
    this.insert = prepare(
      'INSERT INTO messages (topic, "partition", "key", headers, value, timestamp) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.since = prepare(
      'SELECT "partition", min("offset") AS "offset" FROM messages WHERE topic = ? AND timestamp >= ? GROUP BY "partition"',
    );
    this.after = prepare(
      'SELECT "offset", "partition", "key", headers, value, timestamp FROM messages WHERE "offset" >= ? AND topic = ? ORDER BY "offset" LIMIT ?',
    );
    this.firstOffset = prepare('SELECT "offset" FROM messages WHERE topic = ? ORDER BY "offset" LIMIT 1');
    this.nextOffset = prepare("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0) + 1 AS \"offset\"");
  }

  createTopics(topics: readonly Topic[]): Promise<void> {
    const add = this.database.prepare('INSERT INTO topics VALUES (?, ?) ON CONFLICT DO NOTHING');
    const find = this.database.prepare('SELECT partitions FROM topics WHERE name = ?');
    for (const { name, partitions } of topics) {
      add.run(name, partitions);
      const existing = find.get(name)?.['partitions'] as number;
      if (existing !== partitions) {
        return Promise.reject(
          new Error(`topic ${name} has ${String(existing)} partitions, not ${String(partitions)}: TOPIC_PARTITIONS`),
        );
      }
    }
    return Promise.resolve();
  }

  publish(topic: Topic, messages: readonly MessageToPublish[]): Promise<void> {
    try {
      this.database.transaction(() => {
        for (const { key, headers, value, timestamp } of messages) {
          this.insert.run(topic.name, this.partitionOf(topic, key), key, JSON.stringify(headers), value, timestamp);
        }
        this.prune(topic);
      });
      return Promise.resolve();
    } catch (cause) {
      return Promise.reject(
        new Refusal('dependency_unavailable', 'the message bus cannot write', { retryAfter: 1, cause }),
      );
    }
  }

  partitionOf(topic: Topic, key: string): number {
    return crc32(key) % topic.partitions;
  }

  offsets(topic: Topic, at: 'earliest' | 'latest' | number): Promise<Offsets> {
    const next = this.nextOffset.get()?.['offset'] as number;
    const start = at === 'earliest' ? ((this.firstOffset.get(topic.name)?.['offset'] as number | undefined) ?? next) : next;
    const offsets = new Map<number, string>();
    for (let partition = 0; partition < topic.partitions; partition += 1) offsets.set(partition, String(start));
    if (typeof at === 'number') {
      for (const row of this.since.all(topic.name, at)) {
        offsets.set(row['partition'] as number, String(row['offset'] as number));
      }
    }
    return Promise.resolve(offsets);
  }

  async *consume(topic: Topic, from: Offsets, signal: AbortSignal): AsyncGenerator<BusBatch> {
    const starts = new Map(Array.from(from, ([partition, offset]) => [partition, Number(offset)]));
    let next = Math.min(...starts.values());
    while (!signal.aborted) {
      const seen = this.database.changed.rung;
      const messages = this.after.all(next, topic.name, BATCH_MESSAGES_MAX).map(toMessage);
      const last = messages.at(-1);
      if (!last) {
        await this.database.changed.wait(seen, signal);
        continue;
      }
      next = Number(last.offset) + 1;
      const wanted = messages.filter(({ partition, offset }) => Number(offset) >= (starts.get(partition) ?? Infinity));
      for (const [partition, batch] of Map.groupBy(wanted, (message) => message.partition)) {
        yield { partition, messages: batch };
        if (isAborted(signal)) return;
      }
    }
  }

  close(): Promise<void> {
    this.database.close();
    return Promise.resolve();
  }

  private prune(topic: Topic): void {
    const now = Date.now();
    if (topic.retentionMs === null || now - (this.prunedAt.get(topic.name) ?? 0) < PRUNE_EVERY_MS) return;
    this.prunedAt.set(topic.name, now);
    this.database
      .prepare('DELETE FROM messages WHERE topic = ? AND timestamp < ?')
      .run(topic.name, now - topic.retentionMs);
  }
}

/** Between two yields the consumer may have aborted, which control flow analysis does not see. */
const isAborted = (signal: AbortSignal): boolean => signal.aborted;

const toMessage = (row: Record<string, unknown>): BusMessage => ({
  offset: String(row['offset'] as number),
  partition: row['partition'] as number,
  key: row['key'] as string,
  headers: JSON.parse(row['headers'] as string) as Record<string, string>,
  value: row['value'] as string | null,
  timestamp: row['timestamp'] as number,
});
