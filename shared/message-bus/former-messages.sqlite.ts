import type { SqliteDatabase } from '../primitives/database.sqlite.ts';
import type { OffsetMessage } from './record-batch.ts';

type Row = [offset: number, key: string, headers: string, value: string | null, timestamp: number];

/** The table that had a row for each message. */
export class FormerMessages {
  constructor(private readonly database: SqliteDatabase) {}

  /**
   * Moves what a store of before has, if it has any, with the same offsets. Runs in the caller's transaction.
   * @param store takes messages of one partition, in the order of their offsets
   */
  moveTo(store: (topic: string, partition: number, messages: Iterable<OffsetMessage>) => void): void {
    const { database } = this;
    if (!database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'messages'").get()) return;
    const partitions = database.prepare('SELECT DISTINCT topic, "partition" FROM messages').all();
    for (const row of partitions) {
      const [topic, partition] = [row['topic'] as string, row['partition'] as number];
      store(topic, partition, this.messagesOf(topic, partition));
    }
    // No offset is given twice, also where nothing is left of those that were given.
    database.exec(`
      INSERT INTO sqlite_sequence (name, seq) SELECT 'batches', 0
        WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'batches');
      UPDATE sqlite_sequence SET seq = max(seq, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0))
        WHERE name = 'batches';
      DROP TABLE messages;
    `);
  }

  private *messagesOf(topic: string, partition: number): Generator<OffsetMessage> {
    const statement = this.database.prepare(
      `SELECT "offset", "key", headers, value, timestamp FROM messages
       WHERE topic = ? AND "partition" = ? ORDER BY "offset"`,
    );
    statement.setReturnArrays(true);
    for (const row of statement.iterate(topic, partition)) {
      const [offset, key, headers, value, timestamp] = row as unknown as Row;
      yield { offset, key, headers: JSON.parse(headers) as Record<string, string>, value, timestamp };
    }
  }
}
