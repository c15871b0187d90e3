import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { Topic } from '../../../schemas/topics.ts';
import type { BusBatch, Offsets } from '../message-bus.ts';
import { SqliteMessageBus } from '../embedded/message-bus.sqlite.ts';
import { eventually } from '../../testing/eventually.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { BatchServer } from './batch-server.ts';

const topic: Topic = { name: 'test.topic', partitions: 2, retentionMs: null };

/** A bus whose first consumer fails once everything was read. */
class BreakingBus extends SqliteMessageBus {
  hasBroken = false;

  override async *consume(of: Topic, from: Offsets, signal: AbortSignal): AsyncGenerator<BusBatch> {
    for await (const batch of super.consume(of, from, signal)) {
      yield batch;
      if (this.hasBroken) continue;
      this.hasBroken = true;
      throw new Error('the bus failed');
    }
  }
}

const folder = temporaryFolder();

it('a batch server follows again after a failure, although the end of an empty partition has changed', async () => {
  const messageBus = new BreakingBus(join(folder, 'bus.db'));
  await messageBus.createTopics([topic]);
  const startAt = () => messageBus.offsets(topic, 'earliest');
  const server = new BatchServer({ messageBus, logger: pino({ level: 'silent' }), topics: [topic], startAt });
  server.addHandler(topic.name, () => Promise.resolve(), true);
  server.listen(() => undefined);
  await eventually(() => server.isFollowing, 5_000, 'a server with nothing to do must follow');
  await messageBus.publish(topic, [{ key: 'k', headers: {}, value: '1', timestamp: 0 }]);
  await eventually(() => messageBus.hasBroken && server.isFollowing, 5_000, 'the server must follow again');
  await server.close();
  await messageBus.close();
  expect(server.isFollowing).toBe(false);
});
