import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { topics, type Topic } from '../../../schemas/topics.ts';
import { MemoryMessageBus } from '../../../shared/message-bus/message-bus.memory.ts';
import { SqliteMessageBus } from '../../../shared/message-bus/message-bus.sqlite.ts';
import type { BusBatch, MessageBus, Offsets } from '../../../shared/message-bus/message-bus.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { connectForTests, kafkaForTests } from '../../../shared/testing/test-bus.kafka.ts';
import { whereServer } from '../../../shared/testing/servers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { startCounting } from './count-events.ts';
import { EventCounts, type ContractCounts } from './event-counts.sqlite.ts';
import { byName, PublishedChanges, type ContractChange } from './testing/published-changes.ts';

type Crash = 'none' | 'before' | 'after';

/** Fails once, before or after a batch is stored. */
class CrashingCounts extends EventCounts {
  hasCrashed = false;

  constructor(
    file: string,
    private readonly crash: Crash,
  ) {
    super(file);
  }

  override take(batch: BusBatch): void {
    if (this.crash !== 'before' || this.hasCrashed) super.take(batch);
    if (this.crash === 'none' || this.hasCrashed) return;
    this.hasCrashed = true;
    throw new Error(`crashed ${this.crash} the batch was stored`);
  }
}

/** Deletes everything before anybody looks. */
class ForgetfulBus extends MemoryMessageBus {
  isForgetful = false;

  override offsets(topic: Topic, at: 'earliest' | 'latest' | number): Promise<Offsets> {
    return super.offsets(topic, this.isForgetful ? 'latest' : at);
  }
}

const folder = temporaryFolder();
const aFile = () => join(folder, `${randomUUID()}.db`);

/** One life of the program: counts until it crashes, or until all is counted. */
const live = async (
  messageBus: MessageBus,
  file: string,
  crash: Crash = 'none',
): Promise<{ counts: ContractCounts[]; logged: unknown[] }> => {
  const { logger, logged } = await testFoundation();
  const counts = new CrashingCounts(file, crash);
  try {
    const counting = await startCounting({ messageBus, counts, logger });
    const isOver = () => (crash === 'none' ? counting.isCaughtUp() : counts.hasCrashed);
    await eventually(isOver, 20_000, 'everything must be counted');
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

/** In two lives, with repeats at their seam. */
const countInTwoLives = async (messageBus: MessageBus): Promise<void> => {
  const changes = new PublishedChanges(messageBus);
  const file = aFile();
  await changes.publish(changesOf(20, 1_500));
  expect((await live(messageBus, file)).counts).toEqual(changes.counts);
  await changes.publish(changesOf(25, 1_500), 700);
  expect((await live(messageBus, file)).counts).toEqual(changes.counts);
  expect((await live(messageBus, aFile())).counts).toEqual(changes.counts);
};

describe('the counts of events', () => {
  it('are those of what was published, whatever comes again and wherever the program ends', async () => {
    const change = fc.record({ contract: fc.nat({ max: 4 }), isReverted: fc.boolean() });
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
        await live(messageBus, file, crash);
      }
      expect((await live(messageBus, file)).counts).toEqual(published.counts);
    });
    await fc.assert(property, { numRuns: 40, endOnFailure: true });
  });

  it('come from the embedded bus', async () => {
    await using bus = new AsyncDisposableStack();
    const messageBus = await busWithTopic(new SqliteMessageBus(aFile()));
    bus.defer(() => messageBus.close());
    await countInTwoLives(messageBus);
  });

  it('take a batch whole or not at all', () => {
    const counts = new EventCounts(aFile());
    const message = { key: 'k', value: '{}', timestamp: 0, partition: 0 };
    const headers = { ce_type: 'annals.ChainEventObserved.v1', ce_position: '1' };
    const withoutPosition = { ce_type: 'annals.ChainEventObserved.v1' };
    const messages = [
      { ...message, offset: '0', headers },
      { ...message, offset: '1', headers: withoutPosition },
    ];
    expect(() => counts.take({ partition: 0, messages })).toThrow('NOT NULL');
    expect(counts.all()).toEqual([]);
    expect(counts.next()).toEqual(new Map());
    counts.close();
  });

  it('are not mixed with those of another topic', async () => {
    const full = await busWithTopic(new MemoryMessageBus());
    await new PublishedChanges(full).publish(changesOf(3, 30));
    const file = aFile();
    await live(full, file);
    await expect(live(await busWithTopic(new MemoryMessageBus()), file)).rejects.toThrow(
      'the counts are of another topic',
    );
  });

  it('are said to lack something when messages were deleted before they were counted', async () => {
    const messageBus = await busWithTopic(new ForgetfulBus());
    const changes = new PublishedChanges(messageBus);
    const file = aFile();
    await changes.publish(changesOf(1, 1));
    expect((await live(messageBus, file)).logged).toEqual([]);
    await changes.publish(changesOf(1, 2));
    messageBus.isForgetful = true;
    expect((await live(messageBus, file)).logged).toEqual(['messages may have been deleted before they were counted']);
  });
});

whereServer('KAFKA_BROKERS', (brokers) => {
  const settings = kafkaForTests(brokers);
  describe('the counts of events', () => {
    it('come from Kafka', async () => {
      await using bus = new AsyncDisposableStack();
      const messageBus = await busWithTopic(await connectForTests(settings));
      bus.defer(() => messageBus.close());
      await countInTwoLives(messageBus);
    });
  });
});
