import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { topics } from '../../schemas/topics.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { TestClock } from '../testing/test-foundation.ts';
import { messageBusContract } from './message-bus.contract.ts';
import { SqliteMessageBus } from './message-bus.sqlite.ts';

const folder = temporaryFolder();
messageBusContract('SQLite', (topicSettings) =>
  Promise.resolve(new SqliteMessageBus(join(folder, 'bus.db'), topicSettings)),
);

describe('the embedded bus', () => {
  it('deletes what is older than its topic keeps, and then only', async () => {
    const clock = new TestClock();
    const bus = new SqliteMessageBus(join(folder, 'deleting.db'), undefined, clock);
    const topic = { ...topics.users, retentionMs: 86_400_000 };
    const publish = () => bus.publish(topic, [{ key: 'usr_1', headers: {}, value: '{}', timestamp: clock.now() }]);
    const partition = bus.partitionOf(topic, 'usr_1');
    const earliest = async () => (await bus.offsets(topic, 'earliest')).get(partition);
    await bus.createTopics([topic]);
    await publish();
    clock.time += 86_400_000;
    await publish();
    expect(await earliest()).toBe('1');
    clock.time += 60_000;
    await publish();
    expect(await earliest()).toBe('2');
    await bus.close();
  });
});
