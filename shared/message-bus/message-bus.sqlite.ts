import type { StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { Topic } from '../../schemas/topics.ts';
import { Refusal, unavailable } from '../errors/refusal.ts';
import { LIMIT, SqliteDatabase } from '../primitives/database.sqlite.ts';
import {
  TopicReplaced,
  type BusBatch,
  type BusMessage,
  type MessageBus,
  type MessageToPublish,
  type Offsets,
} from './message-bus.ts';
import { messageBytes, refusalOfSize } from './message-size.ts';
import { pollPartitions } from './poll-partitions.ts';
import { partitionsDiffer, withTopicSettings, defaultTopicSettings, type TopicSettings } from './topic-settings.ts';

const BATCH_MESSAGES_MAX = 1_000;
/** A batch ends at this size too, of the text of its messages. */
const BATCH_CHARACTERS_MAX = 4 * 1024 * 1024;
const ROWS_PER_READ = 64;
const PRUNE_EVERY_MS = 60_000;
/** A month between two messages of a partition is taken for a clock that jumped, and not for time that went by. */
const GAP_MAX_MS = 30 * 86_400_000;

/**
 * The embedded message bus: one table. A message's offset is its row, so offsets grow over all partitions. Messages
 * older than a topic's retention are deleted, by the time of its newest message and not by a clock, which may jump.
 * Compacted topics keep everything, which compaction allows.
 */
export class SqliteMessageBus implements MessageBus {
  private readonly database: SqliteDatabase;
  private readonly insert: StatementSync;
  private readonly from: StatementSync;
  private readonly timeFrom: StatementSync;
  private readonly ends: StatementSync;
  private readonly newestTime: StatementSync;
  private readonly timeBefore: StatementSync;
  private readonly prunedAt = new Map<string, number>();

  constructor(
    file: string,
    private readonly topicSettings: TopicSettings = defaultTopicSettings,
    /** A monotonic clock in milliseconds. */
    private readonly now: () => number = () => performance.now(),
  ) {
    this.database = new SqliteDatabase(file, { synchronous: 'FULL', cacheMiB: 32 });
    this.database.setUp(() => {
      this.database.exec(`
      CREATE TABLE IF NOT EXISTS topics (name TEXT PRIMARY KEY, partitions INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS messages (
        "offset" INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL, "partition" INTEGER NOT NULL,
        "key" TEXT NOT NULL, headers TEXT NOT NULL, value TEXT, timestamp INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX IF NOT EXISTS messages_by_partition ON messages (topic, "partition");
    `);
    });
    const prepare = (sql: string) => this.database.prepare(sql);
    this.insert = prepare(
      'INSERT INTO messages (topic, "partition", "key", headers, value, timestamp) VALUES (?, ?, ?, ?, ?, ?)',
    );
    const inPartition = 'FROM messages WHERE topic = ? AND "partition" = ?';
    this.from = prepare(
      `SELECT "offset", "partition", "key", headers, value, timestamp ${inPartition} AND "offset" >= ? ORDER BY "offset" ${LIMIT}`,
    );
    this.timeFrom = prepare(`SELECT "offset", timestamp ${inPartition} AND "offset" >= ? ORDER BY "offset" LIMIT 1`);
    this.timeBefore = prepare(`SELECT timestamp ${inPartition} AND "offset" < ? ORDER BY "offset" DESC LIMIT 1`);
    this.newestTime = prepare('SELECT timestamp FROM messages WHERE topic = ? ORDER BY "offset" DESC LIMIT 1');
    this.ends = prepare(
      `SELECT (SELECT min("offset") ${inPartition}) AS first, (SELECT max("offset") ${inPartition}) AS last,
         (SELECT seq FROM sqlite_sequence WHERE name = 'messages') AS newest`,
    );
  }

  async createTopics(topics: readonly Topic[]): Promise<void> {
    const add = this.database.prepare('INSERT INTO topics VALUES (?, ?) ON CONFLICT DO NOTHING');
    const find = this.database.prepare('SELECT partitions FROM topics WHERE name = ?');
    await this.database.transaction(() => {
      for (const topic of topics.map((one) => this.configured(one))) {
        add.run(topic.name, topic.partitions);
        const existing = find.get(topic.name)?.['partitions'] as number;
        if (existing !== topic.partitions) throw partitionsDiffer(topic, existing);
      }
    });
  }

  async publish(topic: Topic, messages: readonly MessageToPublish[], signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const configured = this.configured(topic);
    const refused = refusalOfSize(messages.map(messageBytes));
    if (refused) throw refused;
    try {
      await this.database.transaction(() => {
        for (const { key, headers, value, timestamp } of messages) {
          this.insert.run(
            configured.name,
            this.partitionOf(topic, key),
            key,
            JSON.stringify(headers),
            value,
            timestamp,
          );
        }
        this.prune(configured);
      });
    } catch (cause) {
      throw cause instanceof Refusal ? cause : unavailable('the message bus cannot write', cause);
    }
  }

  partitionOf(topic: Topic, key: string): number {
    return crc32(key) % this.configured(topic).partitions;
  }

  offsets(topic: Topic, at: 'earliest' | 'latest' | number): Promise<Offsets> {
    const offsets = new Map<number, string>();
    const configured = this.configured(topic);
    for (let partition = 0; partition < configured.partitions; partition += 1) {
      const { earliest, latest } = this.endsOf(configured, partition);
      const offset =
        at === 'earliest' ? earliest : at === 'latest' ? latest : this.firstSince(configured, partition, at);
      offsets.set(partition, String(offset));
    }
    return Promise.resolve(offsets);
  }

  async *consume(topic: Topic, from: Offsets, signal: AbortSignal): AsyncGenerator<BusBatch> {
    const configured = this.configured(topic);
    const { name } = configured;
    for (const [partition, offset] of from) {
      if (Number(offset) > this.endsOf(configured, partition).end) throw new TopicReplaced(name, partition, offset);
    }
    const read = (partition: number, offset: number) => this.readSome(name, partition, offset);
    yield* pollPartitions({ from, read, more: this.database.changed, signal });
  }

  close(): Promise<void> {
    this.database.close();
    return Promise.resolve();
  }

  /** Reads a few rows at a time, because only what was read tells its size. */
  private readSome(name: string, partition: number, offset: number): BusMessage[] {
    const messages: BusMessage[] = [];
    let next = offset;
    let characters = 0;
    while (messages.length < BATCH_MESSAGES_MAX && characters < BATCH_CHARACTERS_MAX) {
      const rows = this.from.all(name, partition, next, ROWS_PER_READ);
      for (const row of rows) {
        const message = toMessage(row);
        messages.push(message);
        characters += message.value?.length ?? 0;
        next = Number(message.offset) + 1;
      }
      if (rows.length < ROWS_PER_READ) break;
    }
    return messages;
  }

  private configured(topic: Topic): Topic {
    return withTopicSettings(topic, this.topicSettings);
  }

  /** @returns also the end of all partitions together, which no offset exceeds */
  private endsOf({ name }: Topic, partition: number): { earliest: number; latest: number; end: number } {
    const { first, last, newest } = this.ends.get(name, partition, name, partition) as Record<string, number | null>;
    const latest = (last ?? newest ?? 0) + 1;
    return { earliest: first ?? latest, latest, end: (newest ?? 0) + 1 };
  }

  /** Bisects: messages are published in the order of their timestamps, or nearly. */
  private firstSince(topic: Topic, partition: number, time: number): number {
    const { earliest, latest } = this.endsOf(topic, partition);
    let low = earliest;
    let high = latest;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const message = this.timeFrom.get(topic.name, partition, middle) as { offset: number; timestamp: number };
      if (message.timestamp < time) low = message.offset + 1;
      else high = middle;
    }
    return low;
  }

  private prune(topic: Topic): void {
    const now = this.now();
    if (topic.retentionMs === null || now - (this.prunedAt.get(topic.name) ?? -Infinity) < PRUNE_EVERY_MS) return;
    this.prunedAt.set(topic.name, now);
    const newest = this.newestTime.get(topic.name)?.['timestamp'] as number | undefined;
    if (newest === undefined) return;
    const forget = this.database.prepare('DELETE FROM messages WHERE topic = ? AND "partition" = ? AND "offset" < ?');
    for (let partition = 0; partition < topic.partitions; partition += 1) {
      const kept = this.firstSince(topic, partition, newest - topic.retentionMs);
      if (!this.isAfterGap(topic, partition, kept, newest)) forget.run(topic.name, partition, kept);
    }
  }

  /** What lies before a gap is kept until the messages after the gap are too old as well. */
  private isAfterGap({ name }: Topic, partition: number, offset: number, newest: number): boolean {
    const before = this.timeBefore.get(name, partition, offset)?.['timestamp'] as number | undefined;
    const after = (this.timeFrom.get(name, partition, offset)?.['timestamp'] as number | undefined) ?? newest;
    return before !== undefined && after - before > GAP_MAX_MS;
  }
}

const toMessage = (row: Record<string, unknown>): BusMessage => ({
  offset: String(row['offset']),
  partition: row['partition'] as number,
  key: row['key'] as string,
  headers: JSON.parse(row['headers'] as string) as Record<string, string>,
  value: row['value'] as string | null,
  timestamp: row['timestamp'] as number,
});
