import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import kafkajs, { type EachMessagePayload } from 'kafkajs';
import { pino } from 'pino';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { contractKey, topics } from '../../../schemas/topics.ts';
import { MemoryEventStore } from '../../../shared/testing/engines/event-store.memory.ts';
import type { KafkaMessageBus } from '../../../shared/message-bus/kafka/message-bus.kafka.ts';
import { MemoryReadStore } from '../../../shared/testing/engines/read-store.memory.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { connectForTests, kafkaForTests } from '../../../shared/testing/engines/test-bus.kafka.ts';
import { whereServer } from '../../../shared/testing/engines/servers.ts';
import { RELAY_CHECKPOINT } from './checkpoint.ts';
import { relayLoop } from './relay-loop.ts';

const EVENTS = 10_000;
const CONTRACTS = 50;
const APPENDED_AT_ONCE = 20;

interface Seen {
  id: string;
  key: string;
  sequence: number;
  value: unknown;
}

const contractAddress = (index: number) => `0x${index.toString(16).padStart(40, '0')}`;

/** Appends to all contracts in rotation, so that their events are mixed. */
const appendChainEvents = async (eventStore: MemoryEventStore): Promise<void> => {
  for (let revision = -1; (revision + 1) * CONTRACTS < EVENTS; revision += APPENDED_AT_ONCE) {
    for (let index = 0; index < CONTRACTS; index += 1) {
      const events = Array.from({ length: APPENDED_AT_ONCE }, (_, at) =>
        anEvent({
          type: 'ChainEventObserved',
          data: {
            ...eventExamples.ChainEventObserved,
            ContractAddress: contractAddress(index),
            LogIndex: revision + 1 + at,
          },
          time: Date.now(),
        }),
      );
      await eventStore.append(`chain-2484-${contractAddress(index)}`, revision, events);
    }
  }
};

/** Fails `crashesMax` times to save the relay's checkpoint, as if the process crashed after publishing. */
class CrashingReadStore extends MemoryReadStore {
  crashes = 0;
  private saves = 0;

  constructor(private readonly crashesMax: number) {
    super();
  }

  override apply(...args: Parameters<MemoryReadStore['apply']>): ReturnType<MemoryReadStore['apply']> {
    const [checkpoint] = args;
    this.saves += checkpoint === RELAY_CHECKPOINT ? 1 : 0;
    if (this.saves % 2 === 0 && this.crashes < this.crashesMax) {
      this.crashes += 1;
      return Promise.reject(new Error('the process died'));
    }
    return super.apply(...args);
  }
}

const firstCopies = (seen: readonly Seen[]): Seen[] => {
  const ids = new Set<string>();
  return seen.filter(({ id }) => !ids.has(id) && ids.add(id));
};

whereServer('KAFKA_BROKERS', (brokers) => {
  describe('a consumer of the topic that knows only kafkajs', () => {
    const settings = kafkaForTests(brokers);
    const kafka = new kafkajs.Kafka({ brokers: settings.KAFKA_BROKERS, logLevel: kafkajs.logLevel.NOTHING });

    /**
     * Relays the events through a bus with topics of its own, and returns what was consumed once nothing more arrives.
     */
    const relayed = async (eventStore: MemoryEventStore, readStore: MemoryReadStore, run: string): Promise<Seen[]> => {
      const prefix = `${settings.TOPIC_PREFIX}${run}.`;
      const bus: KafkaMessageBus = await connectForTests({ ...settings, TOPIC_PREFIX: prefix });
      await bus.createTopics([topics.chainEvents]);
      const seen: Seen[] = [];
      const groupId = randomUUID();
      const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 50 });
      await consumer.connect();
      await consumer.subscribe({ topics: [prefix + topics.chainEvents.name], fromBeginning: true });
      await consumer.run({
        eachMessage: ({ message: { key, headers, value } }: EachMessagePayload) => {
          const header = (name: string) => String(headers?.[name]);
          seen.push({
            id: header('ce_id'),
            key: String(key),
            sequence: Number(header('ce_sequence')),
            value: JSON.parse(String(value)),
          });
          return Promise.resolve();
        },
      });
      const relay = relayLoop({
        eventStore,
        messageBus: bus,
        readStore,
        edgeKey: Buffer.alloc(32, 7),
        logger: pino({ level: 'silent' }),
      });
      relay.start();
      const head = await eventStore.head();
      await eventually(
        async () => (await readStore.position(RELAY_CHECKPOINT)) === head,
        60_000,
        'the relay must reach the head of the event store',
      );
      await relay.stop();
      await eventually(
        async () => {
          const ends = await bus.offsets(topics.chainEvents, 'latest');
          return seen.length === Array.from(ends.values()).reduce((sum, end) => sum + Number(end), 0);
        },
        30_000,
        'the consumer must reach the end of the topic',
      );
      await consumer.disconnect();
      await bus.close();
      return seen;
    };

    let eventStore: MemoryEventStore;
    let appended: Seen[];
    beforeAll(async () => {
      eventStore = new MemoryEventStore();
      await appendChainEvents(eventStore);
      appended = [];
      for (let index = 0; index < CONTRACTS; index += 1) {
        const key = contractKey(2484, contractAddress(index));
        for (const { id, revision, data } of await eventStore.read(`chain-2484-${contractAddress(index)}`)) {
          appended.push({ id, key, sequence: revision, value: data });
        }
      }
      expect(appended).toHaveLength(EVENTS);
    });
    afterAll(() => eventStore.close());

    const byKey = (seen: readonly Seen[]) => Map.groupBy(seen, ({ key }) => key);

    it('sees every event once, those of a contract in their order', async () => {
      const seen = await relayed(eventStore, new MemoryReadStore(), 'calm');
      expect(seen).toHaveLength(EVENTS);
      expect(byKey(seen)).toEqual(byKey(appended));
    });

    it('sees nothing lost and nothing out of order after crashes of the relay, only some events again', async () => {
      const readStore = new CrashingReadStore(3);
      const seen = await relayed(eventStore, readStore, 'crashing');
      expect(readStore.crashes).toBe(3);
      expect(seen.length).toBeGreaterThan(EVENTS);
      expect(byKey(firstCopies(seen))).toEqual(byKey(appended));
    });
  });
});
