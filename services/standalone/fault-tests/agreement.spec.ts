import { beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { allTopics, parkedTopics, topics, type Topic } from '../../../schemas/topics.ts';
import { MemoryEventStore } from '../../../shared/testing/engines/event-store.memory.ts';
import { MemoryMessageBus } from '../../../shared/testing/engines/message-bus.memory.ts';
import type { BusMessage } from '../../../shared/message-bus/message-bus.ts';
import { personalDataOf } from '../../../shared/key-vault/personal-data.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { usersModel } from '../../../shared/read-models/account/users.ts';
import { collections, readModels } from '../../../shared/read-models/catalogue.ts';
import { MemoryReadStore } from '../../../shared/testing/engines/read-store.memory.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { LOG } from '../../../shared/read-models/transparency-log.ts';
import { StoredLog } from '../../../shared/transparency-log/stored-log.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { logLoop } from '../../projector/build-transparency-log/log-loop.ts';
import { projectionLoop } from '../../projector/run-projection/projection-loop.ts';
import { relayLoop } from '../../relay/publish-events/relay-loop.ts';
import { disagreements, everyEvent, everyMessage } from './agreement.ts';

const contract = 'chain-2484-0x5fbdb2315678afecb367f032d93f642f64180aa3';
const observed = (index: number) =>
  anEvent({
    type: 'ChainEventObserved',
    data: { ...(eventExamples.ChainEventObserved as JsonObject), LogIndex: index, Id: `log${String(index)}` },
  });

/** A bus that can assign keys to other partitions. */
class RepartitioningBus extends MemoryMessageBus {
  shift = 0;

  override partitionOf(topic: Topic, key: string): number {
    return (super.partitionOf(topic, key) + this.shift) % topic.partitions;
  }
}

const foundation = await testFoundation();
const personalData = personalDataOf(foundation);

describe('the comparison of read models and topics with the event store', () => {
  let engines: { eventStore: MemoryEventStore; readStore: MemoryReadStore; messageBus: MemoryMessageBus };
  beforeEach(async () => {
    engines = {
      eventStore: new MemoryEventStore(),
      readStore: new MemoryReadStore(),
      messageBus: new MemoryMessageBus(),
    };
    await engines.readStore.define(collections);
    await engines.messageBus.createTopics(allTopics);
    await engines.eventStore.append('user-0x1', -1, [
      anEvent({ type: 'UserRegistered', data: { ...(eventExamples.UserRegistered as JsonObject), userId: '0x1' } }),
    ]);
    await engines.eventStore.append(contract, -1, [observed(0), observed(1), observed(2)]);
  });

  const found = async (derived: typeof engines): Promise<string[]> =>
    disagreements(await everyEvent(engines.eventStore), derived, personalData);

  const derive = async (): Promise<void> => {
    const options = { ...engines, edgeKey: foundation.edgeKey, personalData, logger: pino({ level: 'silent' }) };
    const loops = [
      ...readModels.map((model) => projectionLoop(model, options)),
      relayLoop(options),
      logLoop(options).loop,
    ];
    for (const loop of loops) loop.start();
    const head = await engines.eventStore.head();
    await eventually(
      async () =>
        (
          await Promise.all(
            ['relay-v1', LOG, ...readModels.map(({ name }) => name)].map((one) => engines.readStore.position(one)),
          )
        ).every((position) => position === head),
      5_000,
      'everything must reach the head',
    );
    await Promise.all(loops.map((loop) => loop.stop()));
  };

  it('finds nothing when everything is projected and published, also when messages are repeated', async () => {
    await derive();
    await engines.messageBus.publish(topics.chainEvents, await everyMessage(engines.messageBus, topics.chainEvents));
    expect(await found(engines)).toEqual([]);
  });

  it('finds what is not projected or published', async () => {
    expect(await found(engines)).not.toEqual([]);
    await derive();
    await engines.eventStore.append(contract, 2, [observed(3)]);
    expect(await found(engines)).toEqual([
      expect.stringMatching(/^chain-events-v5: .*:000003:/),
      expect.stringMatching(/^chain-event-counts-v5: /),
      expect.stringMatching(/^log: 4 leaves of root .*, not 5 leaves of root /),
      'log: tile 0/000 differs',
      expect.stringMatching(/^annals.chain-events.v1: eip155:2484/),
    ]);
  });

  it('finds a tile of the log that differs', async () => {
    await derive();
    const state = await engines.readStore.position(LOG);
    const other = { level: 0, index: 0, tile: Buffer.alloc(32) };
    await new StoredLog(engines.readStore).store(
      [other],
      { size: 4, root: Buffer.alloc(32), position: state + 1 },
      undefined,
    );
    expect(await found(engines)).toEqual([
      expect.stringMatching(/^log: 4 leaves of root A{43}=, not 4 leaves of root /),
      'log: tile 0/000 differs',
    ]);
  });

  it('finds a document that differs, and one that should not exist', async () => {
    await derive();
    await engines.readStore.apply(
      usersModel.name,
      [{ collection: 'users-v5', id: '0x2', position: 1, document: {} }],
      1,
    );
    const [user] = await engines.readStore.find('users-v5', { filter: { id: '0x1' } });
    await engines.readStore.apply(
      usersModel.name,
      [{ collection: 'users-v5', id: '0x1', position: 99, document: { ...user?.document, username: 'other' } }],
      1,
    );
    expect(await found(engines)).toEqual(['users-v5: 0x1, 0x2 differ']);
  });

  /** The engines with another bus, whose topic of chain events and parked topic have these messages. */
  const published = async (chainEvents: readonly BusMessage[], parkedMessages: readonly BusMessage[] = []) => {
    const messageBus = new MemoryMessageBus();
    await messageBus.createTopics(allTopics);
    await messageBus.publish(topics.users, await everyMessage(engines.messageBus, topics.users));
    await messageBus.publish(topics.chainEvents, chainEvents);
    await messageBus.publish(parkedTopics.chainEvents, parkedMessages);
    return { ...engines, messageBus };
  };

  describe('finds that', () => {
    let messages: BusMessage[];
    beforeEach(async () => {
      await derive();
      messages = await everyMessage(engines.messageBus, topics.chainEvents);
      expect(await found(await published(messages))).toEqual([]);
    });

    const differs = [expect.stringMatching(/^annals.chain-events.v1: eip155:2484\/0x[0-9a-f]+ differ$/)];
    const withHeader = (message: BusMessage, name: string, value: string): BusMessage => ({
      ...message,
      headers: { ...message.headers, [name]: value },
    });
    /** All messages, with the first one changed. */
    const withFirst = (change: (first: BusMessage) => BusMessage): BusMessage[] =>
      messages.map((message, index) => (index === 0 ? change(message) : message));

    it('a message is missing, or messages have another order', async () => {
      for (const wrong of [messages.slice(1), messages.toReversed()]) {
        expect(await found(await published(wrong))).toEqual(differs);
      }
    });

    it('a message has another value, no value or another time', async () => {
      for (const change of [{ value: '{}' }, { value: null }, { timestamp: 1 }]) {
        expect(await found(await published(withFirst((first) => ({ ...first, ...change }))))).toEqual(differs);
      }
    });

    it.each(['ce_id', 'ce_type', 'ce_sequence', 'ce_position', 'ce_subject', 'ce_time', 'ce_correlationid', 'more'])(
      'a message has another header %s',
      async (name) => {
        expect(await found(await published(withFirst((first) => withHeader(first, name, '17'))))).toEqual(differs);
      },
    );

    it('a message lacks a header', async () => {
      const wrong = withFirst(({ headers: { ce_source: _, ...headers }, ...first }) => ({ ...first, headers }));
      expect(await found(await published(wrong))).toEqual(differs);
    });

    it('a message has another key', async () => {
      expect(await found(await published(withFirst((first) => ({ ...first, key: 'other' }))))).toEqual([
        expect.stringMatching(/^annals.chain-events.v1: eip155.*, other differ$/),
      ]);
    });

    it('a message is repeated with another header', async () => {
      const repeated = withFirst((first) => withHeader(first, 'ce_position', '17')).slice(0, 1);
      expect(await found(await published([...messages, ...repeated]))).toEqual(differs);
    });

    it("a message is in another partition than its key's", async () => {
      const messageBus = new RepartitioningBus();
      await messageBus.createTopics(allTopics);
      await messageBus.publish(topics.users, await everyMessage(engines.messageBus, topics.users));
      messageBus.shift = 1;
      await messageBus.publish(topics.chainEvents, messages);
      messageBus.shift = 0;
      expect(await found({ ...engines, messageBus })).toEqual(differs);
    });

    it('a message is parked, whether it is published too or not', async () => {
      const parked = messages.slice(0, 1);
      expect(await found(await published(messages, parked))).toEqual(['annals.chain-events.v1.parked: 1 messages']);
      expect(await found(await published(messages.slice(1), parked))).toEqual([
        ...differs,
        'annals.chain-events.v1.parked: 1 messages',
      ]);
    });
  });
});
