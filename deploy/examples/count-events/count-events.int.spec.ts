import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { topics, type Topic } from '../../../schemas/topics.ts';
import { MemoryMessageBus } from '../../../shared/testing/engines/message-bus.memory.ts';
import { SqliteMessageBus } from '../../../shared/message-bus/embedded/message-bus.sqlite.ts';
import type { BusBatch, MessageBus, Offsets } from '../../../shared/message-bus/message-bus.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { connectForTests, kafkaForTests } from '../../../shared/testing/engines/test-bus.kafka.ts';
import { whereServer } from '../../../shared/testing/engines/servers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { startCounting } from './count-events.ts';
import { EventCounts, type ContractCounts } from './event-counts.sqlite.ts';
import { byName, PublishedChanges, type ContractChange } from './testing/published-changes.ts';

type Crash = 'none' | 'before' | 'after';

/** Fails once, before or after it has stored a batch. */
class CrashingCounts extends EventCounts {
  hasCrashed = false;

  constructor(
    file: string,
    private readonly crash: Crash,
  ) {
    super(file);
  }

  override async take(batch: BusBatch): Promise<void> {
    if (this.crash !== 'before' || this.hasCrashed) await super.take(batch);
    if (this.crash === 'none' || this.hasCrashed) return;
    this.hasCrashed = true;
    throw new Error(`crashed ${this.crash} the batch was stored`);
  }
}

/** Behaves as if all messages had been deleted, if that is set. */
class DeletingBus extends MemoryMessageBus {
  hasDeleted = false;

  override offsets(topic: Topic, at: 'earliest' | 'latest' | number): Promise<Offsets> {
    return super.offsets(topic, this.hasDeleted ? 'latest' : at);
  }
}

const folder = temporaryFolder();
const aFile = () => join(folder, `${randomUUID()}.db`);

/** Runs the program until it crashes, or until everything is counted. */
const run = async (
  messageBus: MessageBus,
  file: string,
  crash: Crash = 'none',
): Promise<{ counts: ContractCounts[]; logged: unknown[] }> => {
  const { logger, logged } = await testFoundation();
  const counts = new CrashingCounts(file, crash);
  try {
    const counting = await startCounting({ messageBus, counts, logger });
    const isDone = () => (crash === 'none' ? counting.isCaughtUp() : counts.hasCrashed);
    await eventually(isDone, 20_000, 'everything must be counted');
    await counting.close();
    return { counts: counts.all().sort(byName), logged: logged.map(({ msg }) => msg) };
  } finally {
    counts.close();
  }
};

const busWithTopic = async <Bus extends MessageBus>(bus: Bus): Promise<Bus> => {
  await bus.createTopics([topics.chainEvents]);
  return bus;
};

const changesOf = (contracts: number, count: number): ContractChange[] =>
  Array.from({ length: count }, (_, at) => ({ contract: at % contracts, isReverted: at % 7 === 6 }));

/** Counts in two runs; the second one begins with messages that are repeated. */
const countInTwoRuns = async (messageBus: MessageBus): Promise<void> => {
  const changes = new PublishedChanges(messageBus);
  const file = aFile();
  await changes.publish(changesOf(20, 1_500));
  expect((await run(messageBus, file)).counts).toEqual(changes.counts);
  await changes.publish(changesOf(25, 1_500), 700);
  expect((await run(messageBus, file)).counts).toEqual(changes.counts);
  expect((await run(messageBus, aFile())).counts).toEqual(changes.counts);
};

describe('the counts of events', () => {
  it('are those of the published changes, whatever is repeated and whenever the program crashes', async () => {
    const change = fc.record({ contract: fc.nat({ max: 4 }), isReverted: fc.boolean(), log: fc.nat({ max: 3 }) });
    const round = fc.record({
      changes: fc.array(change, { minLength: 1, maxLength: 12 }),
      again: fc.nat({ max: 8 }),
      crash: fc.constantFrom<Crash>('none', 'before', 'after'),
    });
    const property = fc.asyncProperty(fc.array(round, { maxLength: 6 }), async (rounds) => {
      const messageBus = await busWithTopic(new MemoryMessageBus());
      const published = new PublishedChanges(messageBus);
      const file = aFile();
      for (const { changes, again, crash } of rounds) {
        await published.publish(changes, again);
        await run(messageBus, file, crash);
      }
      expect((await run(messageBus, file)).counts).toEqual(published.counts);
    });
    await fc.assert(property, { numRuns: 40, endOnFailure: true });
  });

  it('have a log once, though several watches have a record of it, until the last of these is reverted', async () => {
    const messageBus = await busWithTopic(new MemoryMessageBus());
    const published = new PublishedChanges(messageBus);
    const file = aFile();
    const observed = { contract: 1, isReverted: false, log: 1 };
    await published.publish([observed, observed, observed, { ...observed, log: 2 }]);
    expect((await run(messageBus, file)).counts).toMatchObject([{ logs: 2, records: 4, observed: 4, reverted: 0 }]);
    const reverted = { ...observed, isReverted: true };
    await published.publish([reverted, reverted]);
    expect((await run(messageBus, file)).counts).toMatchObject([{ logs: 2, records: 2 }]);
    await published.publish([reverted]);
    expect((await run(messageBus, file)).counts).toMatchObject([{ logs: 1, records: 1, observed: 4, reverted: 3 }]);
  });

  it('are made from the embedded bus', async () => {
    await using bus = new AsyncDisposableStack();
    const messageBus = await busWithTopic(new SqliteMessageBus(aFile()));
    bus.defer(() => messageBus.close());
    await countInTwoRuns(messageBus);
  });

  it('contain a batch whole or not at all', async () => {
    const counts = new EventCounts(aFile());
    const message = { key: 'k', value: '{"Id":"1"}', timestamp: 0, partition: 0 };
    const headers = { ce_type: 'annals.ChainEventObserved.v1', ce_position: '1' };
    const withoutPosition = { ce_type: 'annals.ChainEventObserved.v1' };
    const messages = [
      { ...message, offset: '0', headers },
      { ...message, offset: '1', headers: withoutPosition },
    ];
    await expect(counts.take({ partition: 0, messages })).rejects.toThrow('NOT NULL');
    expect(counts.all()).toEqual([]);
    expect(counts.next()).toEqual(new Map());
    counts.close();
  });

  it('are not mixed with those of another topic', async () => {
    const full = await busWithTopic(new MemoryMessageBus());
    await new PublishedChanges(full).publish(changesOf(3, 30));
    const file = aFile();
    await run(full, file);
    await expect(run(await busWithTopic(new MemoryMessageBus()), file)).rejects.toThrow(
      'the counts are of another topic',
    );
  });

  it('are reported as incomplete when messages were deleted before they were counted', async () => {
    const messageBus = await busWithTopic(new DeletingBus());
    const changes = new PublishedChanges(messageBus);
    const file = aFile();
    await changes.publish(changesOf(1, 1));
    expect((await run(messageBus, file)).logged).toEqual([]);
    await changes.publish(changesOf(1, 2));
    messageBus.hasDeleted = true;
    expect((await run(messageBus, file)).logged).toEqual(['messages may have been deleted before they were counted']);
  });
});

whereServer('KAFKA_BROKERS', (brokers) => {
  const settings = kafkaForTests(brokers);
  describe('the counts of events', () => {
    it('are made from Kafka', async () => {
      await using bus = new AsyncDisposableStack();
      const messageBus = await busWithTopic(await connectForTests(settings));
      bus.defer(() => messageBus.close());
      await countInTwoRuns(messageBus);
    });
  });
});
