import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from '@jest/globals';
import { topics } from '../../schemas/topics.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { messageBusContract } from './message-bus.contract.ts';
import { SqliteMessageBus } from './message-bus.sqlite.ts';

const folder = temporaryFolder();
messageBusContract('SQLite', (topicSettings) =>
  Promise.resolve(new SqliteMessageBus(join(folder, 'bus.db'), topicSettings)),
);

describe('the embedded bus', () => {
  const DAY_MS = 86_400_000;
  const HOUR_MS = DAY_MS / 24;
  const topic = { ...topics.users, retentionMs: 7 * DAY_MS };
  const start = Date.parse('2026-01-02T03:04:05Z');

  /** Publishes one message after the other, each at a time in hours after the start. Returns which are kept. */
  const keptOf = async (name: string, hours: readonly number[]): Promise<string[]> => {
    let nowMs = 0;
    const bus = new SqliteMessageBus(join(folder, name), undefined, () => nowMs);
    await bus.createTopics([topic]);
    for (const hour of hours) {
      nowMs += 60_000;
      const timestamp = start + hour * HOUR_MS;
      await bus.publish(topic, [{ key: 'usr_1', headers: {}, value: String(hour), timestamp }]);
    }
    const partition = bus.partitionOf(topic, 'usr_1');
    const from = new Map([[partition, '1']]);
    const stop = new AbortController();
    const kept: string[] = [];
    for await (const { messages } of bus.consume(topic, from, stop.signal)) {
      kept.push(...messages.map(({ value }) => value ?? ''));
      if (kept.at(-1) === String(hours.at(-1))) stop.abort();
    }
    await bus.close();
    return kept;
  };
  const days = (count: number) => Array.from({ length: count }, (_, index) => index * 24);

  it('deletes what is older than its topic keeps, measured from the newest message, and then only', async () => {
    expect(await keptOf('deleting.db', days(8))).toEqual(days(8).map(String));
    expect(await keptOf('deleted.db', days(10))).toEqual(days(10).slice(2).map(String));
  });

  it('deletes nothing because a clock was forward once', async () => {
    const hours = [0, 1, 2, 40 * 24, 40 * 24 + 1, 3, 4];
    expect(await keptOf('forward.db', hours)).toEqual(hours.map(String));
  });

  it('keeps what lies before a jump as long as what lies behind it', async () => {
    const jumped = [0, 1, 2, ...days(8).map((hour) => 1_000 + hour)];
    expect(await keptOf('jumped.db', jumped)).toEqual(jumped.map(String));
    const later = [...jumped, 1_000 + 8 * 24];
    expect(await keptOf('later.db', later)).toEqual(later.slice(4).map(String));
  });

  it('gives large messages a few at a time', async () => {
    const bus = new SqliteMessageBus(join(folder, 'large.db'));
    await bus.createTopics([topic]);
    const value = 'x'.repeat(900_000);
    const messages = Array.from({ length: 200 }, () => ({ key: 'usr_1', headers: {}, value, timestamp: start }));
    await bus.publish(topic, messages);
    const stop = new AbortController();
    let given = 0;
    for await (const batch of bus.consume(topic, await bus.offsets(topic, 'earliest'), stop.signal)) {
      expect(batch.messages.length).toBeLessThanOrEqual(64);
      given += batch.messages.length;
      if (given === messages.length) stop.abort();
    }
    await bus.close();
  });
});

describe('a file of the embedded bus from before messages were stored in batches', () => {
  const topic = { ...topics.users, retentionMs: null };

  /** What it had: a row for each message, and offsets over all partitions. */
  const formerFile = (name: string, messages: readonly { key: string; offset: number }[]): string => {
    const file = join(folder, name);
    const database = new DatabaseSync(file);
    database.exec(`
      CREATE TABLE topics (name TEXT PRIMARY KEY, partitions INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE messages (
        "offset" INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL, "partition" INTEGER NOT NULL,
        "key" TEXT NOT NULL, headers TEXT NOT NULL, value TEXT, timestamp INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX messages_by_partition ON messages (topic, "partition");
      INSERT INTO sqlite_sequence VALUES ('messages', 9000);
    `);
    const insert = database.prepare('INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)');
    const bus = new SqliteMessageBus(join(folder, `beside-${name}`));
    for (const { key, offset } of messages)
      insert.run(offset, topic.name, bus.partitionOf(topic, key), key, '{"ce_id":"1"}', String(offset), offset);
    database.close();
    return file;
  };
  const messages = Array.from({ length: 3_000 }, (_, at) => ({ key: `usr_${String(at % 7)}`, offset: 2 * at + 1 }));

  it('gives all of it with the same offsets, and new messages offsets that nobody has had', async () => {
    const file = formerFile('former.db', messages);
    const bus = new SqliteMessageBus(file);
    await bus.createTopics([topic]);
    await bus.publish(topic, [{ key: 'usr_0', headers: {}, value: 'new', timestamp: 9_999 }]);
    const stop = new AbortController();
    const given: { key: string; offset: number }[] = [];
    for await (const batch of bus.consume(topic, await bus.offsets(topic, 'earliest'), stop.signal)) {
      for (const { key, offset, value, headers, timestamp } of batch.messages) {
        given.push({ key, offset: Number(offset) });
        if (value === 'new') continue;
        expect([value, headers, timestamp]).toEqual([offset, { ce_id: '1' }, Number(offset)]);
      }
      if (given.length === messages.length + 1) stop.abort();
    }
    await bus.close();
    const byOffset = given.toSorted((a, b) => a.offset - b.offset);
    expect(byOffset).toEqual([...messages, { key: 'usr_0', offset: 9_001 }]);
    const again = new SqliteMessageBus(file);
    expect([...(await again.offsets(topic, 'latest')).values()]).toContain('9002');
    await again.close();
  });

  it('gives no offset twice where nothing is left', async () => {
    const bus = new SqliteMessageBus(formerFile('former-empty.db', []));
    await bus.createTopics([topic]);
    expect([...(await bus.offsets(topic, 'latest')).values()]).toContain('9001');
    await bus.close();
  });
});
