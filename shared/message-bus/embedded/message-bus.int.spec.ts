import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { topics } from '../../../schemas/topics.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { messageBusContract } from '../message-bus.contract.ts';
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

  /** Publishes messages one by one, each at a time in hours after the start. Returns those that are kept. */
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
