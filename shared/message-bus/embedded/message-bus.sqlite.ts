import type { SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { Partitioning } from '../../../schemas/announcements.ts';
import type { Topic } from '../../../schemas/topics.ts';
import { Refusal, unavailable } from '../../errors/refusal.ts';
import { rowCrc } from '../../primitives/sqlite/damage/row-crc.sqlite.ts';
import { SqliteDatabase } from '../../primitives/sqlite/database.sqlite.ts';
import { batchesOf } from '../../primitives/sqlite/stored-batches.ts';
import {
  type BusBatch,
  type BusMessage,
  type MessageBus,
  type MessageToPublish,
  type Offsets,
  type WhereToRead,
} from '../message-bus.ts';
import { refusalOfSize } from '../message-size.ts';
import { partitionOfKey } from '../partitioning.ts';
import { pollPartitions } from '../poll-partitions.ts';
import { decodeBatch, encodeBatch, type OffsetMessage } from './record-batch.ts';
import { partitionsDiffer, withTopicSettings, defaultTopicSettings, type TopicSettings } from '../topic-settings.ts';

const BATCH_MESSAGES_MAX = 1_000;
/** A batch also ends at this size, measured as the text of its messages. */
const BATCH_CHARACTERS_MAX = 4 * 1024 * 1024;
const BATCH_COLUMNS = 'last, first, topic, "partition", newest, records, crc';
const PRUNE_EVERY_MS = 60_000;
/** A longer gap between two messages of a partition is taken for a jump of the clock, not for elapsed time. */
const GAP_MAX_MS = 30 * 86_400_000;

interface BatchSpan {
  /** Offsets. */
  first: number;
  last: number;
  /** The greatest timestamp in the batch. */
  newest: number;
}

interface StoredRecords {
  partition: number;
  records: string | Uint8Array;
}

/** Where the messages since a given time begin. */
interface Since {
  offset: number;
  /** The batch that contains the first of them, and its index in the batch; -1 if there is none. */
  batch: readonly BusMessage[];
  at: number;
}

/**
 * The embedded message bus: one table of batches, as Kafka has. Offsets grow over all partitions. Deletes batches older
 * than a topic's retention, measured against the topic's newest message and not against a clock, which may jump.
 * Compacted topics keep everything, which compaction allows.
 */
export class SqliteMessageBus implements MessageBus {
  readonly isPrivate = true;
  private readonly database: SqliteDatabase;
  private readonly insert: StatementSync;
  private readonly forget: StatementSync;
  private readonly from: StatementSync;
  private readonly before: StatementSync;
  private readonly lastOf: StatementSync;
  private readonly newestOffset: StatementSync;
  private readonly newestOf: StatementSync;
  private readonly prunedAt = new Map<string, number>();

  constructor(
    file: string,
    private readonly topicSettings: TopicSettings = defaultTopicSettings,
    /** A monotonic clock in milliseconds. */
    private readonly now: () => number = () => performance.now(),
  ) {
    this.database = new SqliteDatabase(file, { synchronous: 'FULL', cacheMiB: 8 });
    this.database.setUp(() => {
      this.database.exec(`
      CREATE TABLE IF NOT EXISTS topics (
        name TEXT PRIMARY KEY, partitions INTEGER NOT NULL, crc INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS batches (
        last INTEGER PRIMARY KEY AUTOINCREMENT, first INTEGER NOT NULL, topic TEXT NOT NULL, "partition" INTEGER NOT NULL,
        newest INTEGER NOT NULL, records ANY NOT NULL, crc INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX IF NOT EXISTS batches_by_partition ON batches (topic, "partition");
    `);
    });
    const prepare = (sql: string) => this.database.prepare(sql);
    const inPartition = 'FROM batches WHERE topic = ? AND "partition" = ?';
    this.from = prepare(`SELECT ${BATCH_COLUMNS} ${inPartition} AND last >= ? ORDER BY last LIMIT 1`);
    this.before = prepare(`SELECT ${BATCH_COLUMNS} ${inPartition} AND last < ? ORDER BY last DESC LIMIT 1`);
    this.newestOf = prepare(`SELECT ${BATCH_COLUMNS} FROM batches WHERE topic = ? ORDER BY last DESC LIMIT 1`);
    this.lastOf = prepare(`SELECT max(last) AS last ${inPartition}`);
    this.newestOffset = prepare("SELECT seq FROM sqlite_sequence WHERE name = 'batches'");
    this.forget = prepare('DELETE FROM batches WHERE topic = ? AND "partition" = ? AND last < ?');
    this.insert = prepare(`INSERT INTO batches (${BATCH_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`);
    this.database.setUp(() => {
      this.requireOffsets();
    });
  }

  async createTopics(topics: readonly Topic[]): Promise<void> {
    const add = this.database.prepare(
      'INSERT INTO topics (name, partitions, crc) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    );
    await this.database.transaction(() => {
      const configured = topics.map((one) => this.configured(one));
      for (const { name, partitions } of configured) add.run(name, partitions, rowCrc([name, partitions]));
      const stored = new Map<unknown, number>();
      // Checks all topics, not only configured ones: a topic whose name was damaged would seem to be missing.
      for (const { name = null, partitions = null, crc } of this.database.prepare('SELECT * FROM topics').all()) {
        this.database.requireRow([name, partitions], crc, `the topic ${String(name)}`);
        stored.set(name, partitions as number);
      }
      for (const topic of configured) {
        const existing = stored.get(topic.name);
        if (existing !== undefined && existing !== topic.partitions) throw partitionsDiffer(topic, existing);
      }
    });
  }

  async publish(topic: Topic, messages: readonly MessageToPublish[], signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const configured = this.configured(topic);
    const refused = refusalOfSize(messages);
    if (refused) throw refused;
    try {
      await this.database.transaction(() => {
        let offset = this.newest;
        for (const [partition, ofPartition] of Map.groupBy(messages, ({ key }) => this.partitionOf(topic, key))) {
          const withOffsets = ofPartition.map((message) => ({ ...message, offset: (offset += 1) }));
          this.store(configured.name, partition, withOffsets);
        }
        this.prune(configured);
      });
    } catch (cause) {
      throw cause instanceof Refusal ? cause : unavailable('the message bus cannot write', cause);
    }
  }

  partitioning(topic: Topic): Partitioning {
    return { hash: 'crc32', partitions: this.configured(topic).partitions };
  }

  partitionOf(topic: Topic, key: string): number {
    return partitionOfKey(this.partitioning(topic), key);
  }

  offsets(topic: Topic, at: 'earliest' | 'latest' | number): Promise<Offsets> {
    const configured = this.configured(topic);
    const offsetOf = (partition: number) => [partition, String(this.offsetAt(configured, partition, at))] as const;
    // In one snapshot, the file is locked once.
    const offsets = this.database.snapshot(() =>
      Array.from({ length: configured.partitions }, (_, at) => offsetOf(at)),
    );
    return Promise.resolve(new Map(offsets));
  }

  async *consume(topic: Topic, from: WhereToRead, signal: AbortSignal): AsyncGenerator<BusBatch> {
    const { name } = this.configured(topic);
    const read = (partition: number, offset: number) => this.readSome(name, partition, offset);
    // No offset of any partition exceeds the end of all of them.
    const end = () => this.newest + 1;
    yield* pollPartitions({ topicName: name, from, end, read, more: this.database.changed, signal });
  }

  close(): Promise<void> {
    this.database.close();
    return Promise.resolve();
  }

  private store(topic: string, partition: number, messages: Iterable<OffsetMessage>): void {
    for (const batch of batchesOf(messages, { charactersOf: ({ value }) => value?.length ?? 0 })) {
      const [first, last] = [batch[0]?.offset ?? 0, batch.at(-1)?.offset ?? 0];
      const newest = batch.reduce((latest, { timestamp }) => Math.max(latest, timestamp), -Infinity);
      const row = [last, first, topic, partition, newest, encodeBatch(batch)];
      this.insert.run(...row, rowCrc(row));
    }
  }

  /** Reads a few batches at a time, because their size is known only once they are read. */
  private readSome(name: string, partition: number, offset: number): BusMessage[] {
    const messages: BusMessage[] = [];
    let next = offset;
    let characters = 0;
    while (messages.length < BATCH_MESSAGES_MAX && characters < BATCH_CHARACTERS_MAX) {
      const batch = this.batchFrom(name, partition, next);
      const last = batch.at(-1);
      if (!last) break;
      for (const message of batch) {
        if (Number(message.offset) < next) continue;
        messages.push(message);
        characters += message.value?.length ?? 0;
      }
      next = Number(last.offset) + 1;
    }
    return messages;
  }

  private configured(topic: Topic): Topic {
    return withTopicSettings(topic, this.topicSettings);
  }

  /** The greatest offset ever assigned. */
  private get newest(): number {
    return (this.newestOffset.get()?.['seq'] as number | undefined) ?? 0;
  }

  private offsetAt(topic: Topic, partition: number, at: 'earliest' | 'latest' | number): number {
    if (at === 'latest') return this.latestOf(topic, partition);
    return at === 'earliest' ? this.earliestOf(topic, partition) : this.since(topic, partition, at).offset;
  }

  /** Reads no batch: the end of every partition is polled each second. */
  private latestOf({ name }: Topic, partition: number): number {
    return ((this.lastOf.get(name, partition)?.['last'] as number | null) ?? this.newest) + 1;
  }

  private earliestOf(topic: Topic, partition: number): number {
    return this.spanFrom(topic.name, partition, 0)?.first ?? this.latestOf(topic, partition);
  }

  /** Bisects: messages are published in the order of their timestamps, or nearly. */
  private since(topic: Topic, partition: number, time: number): Since {
    const latest = this.latestOf(topic, partition);
    let low = this.earliestOf(topic, partition);
    let high = latest;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const span = this.spanFrom(topic.name, partition, middle);
      if (!span) break;
      if (span.newest < time) low = span.last + 1;
      else high = Math.min(middle, span.first);
    }
    const batch = this.batchFrom(topic.name, partition, low);
    const at = batch.findIndex(({ timestamp }) => timestamp >= time);
    return { offset: Number(batch[at]?.offset ?? latest), batch, at };
  }

  /** Returns the messages of the batch with this offset, or of the next batch; none at the end. */
  private batchFrom(name: string, partition: number, offset: number): BusMessage[] {
    const row = this.from.get(name, partition, offset);
    return row ? this.recordsOf(row) : [];
  }

  /** Returns the batch with this offset, or the next one. */
  private spanFrom(name: string, partition: number, offset: number): BatchSpan | undefined {
    const row = this.from.get(name, partition, offset);
    return row && this.whole(row);
  }

  private prune(topic: Topic): void {
    const now = this.now();
    if (topic.retentionMs === null || now - (this.prunedAt.get(topic.name) ?? -Infinity) < PRUNE_EVERY_MS) return;
    this.prunedAt.set(topic.name, now);
    const row = this.newestOf.get(topic.name);
    const newest = row && this.recordsOf(row).at(-1)?.timestamp;
    if (newest === undefined) return;
    for (let partition = 0; partition < topic.partitions; partition += 1) {
      const since = this.since(topic, partition, newest - topic.retentionMs);
      if (!this.isAfterGap(topic, partition, since, newest)) this.forgetBefore(topic, partition, since);
    }
  }

  private forgetBefore({ name }: Topic, partition: number, { offset, batch, at }: Since): void {
    this.forget.run(name, partition, offset);
    const last = batch.at(-1);
    if (!last || at < 1) return;
    this.forget.run(name, partition, Number(last.offset) + 1);
    const kept = batch.slice(at).map((message) => ({ ...message, offset: Number(message.offset) }));
    this.store(name, partition, kept);
  }

  /** Messages before a gap are kept until the messages after the gap are too old as well. */
  private isAfterGap({ name }: Topic, partition: number, { offset, batch, at }: Since, newest: number): boolean {
    const row = at > 0 ? undefined : this.before.get(name, partition, offset);
    const before = batch[at - 1]?.timestamp ?? (row && this.whole(row).newest);
    return before !== undefined && (batch[at]?.timestamp ?? newest) - before > GAP_MAX_MS;
  }

  private recordsOf(row: Record<string, SQLOutputValue>): BusMessage[] {
    const { records, partition } = this.whole(row);
    return decodeBatch(records, partition);
  }

  /** @throws Refusal dependency_unavailable if a batch is not as it was written */
  private whole({ crc, ...row }: Record<string, SQLOutputValue>): BatchSpan & StoredRecords {
    const { last = null, first = null, topic = null, partition = null, newest = null, records = null } = row;
    const values = [last, first, topic, partition, newest, records] as SQLInputValue[];
    this.database.requireRow(values, crc, `the batch that ends at offset ${String(last)}`);
    return row as unknown as BatchSpan & StoredRecords;
  }

  /** Detects a changed newest offset in SQLite's own table: a lower one would assign offsets twice. */
  private requireOffsets(): void {
    const last = this.database.prepare('SELECT max(last) AS last FROM batches').get()?.['last'] as number | null;
    if (last !== null && last > this.newest) throw this.database.damage('its newest offset is not as it was written');
  }
}
