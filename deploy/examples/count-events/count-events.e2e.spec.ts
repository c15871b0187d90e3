import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { topics } from '../../../schemas/topics.ts';
import { SqliteMessageBus } from '../../../shared/message-bus/embedded/message-bus.sqlite.ts';
import type { MessageBus } from '../../../shared/message-bus/message-bus.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { connectForTests, kafkaForTests } from '../../../shared/testing/engines/test-bus.kafka.ts';
import { RunningProcess } from '../../../shared/testing/processes/running-process.ts';
import { whereServer } from '../../../shared/testing/engines/servers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { EventCounts } from './event-counts.sqlite.ts';
import { byName, PublishedChanges } from './testing/published-changes.ts';

const KILLS = 4;
const COUNTED_BETWEEN_KILLS = 400;
const AHEAD_MAX = 5_000;
const WITHIN_MS = 30_000;

const count = z.object({
  contract: z.string(),
  logs: z.int(),
  observed: z.int(),
  reverted: z.int(),
  records: z.int(),
});
const line = z.object({ caughtUp: z.boolean(), contracts: z.array(count) });

const root = temporaryFolder();
const aFolder = () => join(root, randomUUID());

const start = (settings: Record<string, string>, ...args: string[]): RunningProcess =>
  RunningProcess.spawn('count-events', ['deploy/examples/count-events/main.js', '--json', ...args], {
    LOG_LEVEL: 'silent',
    ...settings,
  });

/** Publishes changes without pause, some repeatedly, while the program counts, is killed and started again. */
const countThroughKills = async (messageBus: MessageBus, settings: Record<string, string>): Promise<void> => {
  await messageBus.createTopics([topics.chainEvents]);
  const changes = new PublishedChanges(messageBus);
  const file = join(settings['DATA_DIR'] ?? '', 'counts.db');
  const stop = new AbortController();
  const view = new EventCounts(file);
  const counted = () => view.all().reduce((sum, { observed, reverted }) => sum + observed + reverted, 0);
  let published = 0;
  const publishing = (async () => {
    for (let round = 0; !stop.signal.aborted; round += 1) {
      const some = Array.from({ length: 20 }, (_, at) => ({ contract: at % 7, isReverted: (round + at) % 5 === 0 }));
      await changes.publish(some, round % 10 === 0 ? 100 : 0);
      published += some.length;
      // Not further ahead than the last start can count within its time limit.
      const isNear = () => stop.signal.aborted || published - counted() <= AHEAD_MAX;
      await eventually(isNear, WITHIN_MS, 'the program must count on');
      await setImmediate();
    }
  })();
  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = counted();
    const program = start(settings, '--counts', file);
    const isFarEnough = () => counted() >= before + COUNTED_BETWEEN_KILLS;
    try {
      await eventually(isFarEnough, WITHIN_MS, 'the program must count');
    } finally {
      await program.kill();
    }
  }
  stop.abort();
  await publishing;
  view.close();
  const last = start(settings, '--counts', file, '--once');
  const output = await eventually(() => last.hasEnded && last.output, WITHIN_MS, 'the last start must end by itself');
  const { caughtUp, contracts } = line.parse(JSON.parse(output));
  expect(caughtUp).toBe(true);
  expect(contracts.sort(byName)).toEqual(changes.counts);
};

describe('the example that counts events', () => {
  it('counts every change once, however often it is killed', async () => {
    await using bus = new AsyncDisposableStack();
    const folder = aFolder();
    const messageBus = new SqliteMessageBus(join(folder, 'bus.db'));
    bus.defer(() => messageBus.close());
    await countThroughKills(messageBus, { DATA_DIR: folder });
  });

  it('prints the counts whenever they change, until it is stopped', async () => {
    await using bus = new AsyncDisposableStack();
    const folder = aFolder();
    const messageBus = new SqliteMessageBus(join(folder, 'bus.db'));
    bus.defer(() => messageBus.close());
    const program = start({ DATA_DIR: folder });
    await program.ready(/"contracts":\[\]/);
    await new PublishedChanges(messageBus).publish([{ contract: 1, isReverted: false }]);
    await program.ready(/"observed":1/);
    expect(await program.stop()).toBe(0);
    expect(program.output.trim().split('\n')).toHaveLength(2);
  });

  it('prints in one line why it cannot start', async () => {
    const program = start({ KAFKA_BROKERS: 'nowhere' });
    await eventually(() => program.hasEnded, WITHIN_MS, 'it must not start');
    expect(program.output).toMatch(/^count-events: KAFKA_BROKERS is not a list of host:port.*\n$/);
    expect(program.child.exitCode).toBe(1);
  });
});

whereServer('KAFKA_BROKERS', (brokers) => {
  const kafka = kafkaForTests(brokers);
  describe('the example that counts events', () => {
    it('counts every change once on Kafka, however often it is killed', async () => {
      await using bus = new AsyncDisposableStack();
      const messageBus = await connectForTests(kafka);
      bus.defer(() => messageBus.close());
      const settings = { DATA_DIR: aFolder(), KAFKA_BROKERS: brokers, TOPIC_PREFIX: kafka.TOPIC_PREFIX };
      await countThroughKills(messageBus, settings);
    });
  });
});
