import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { allTopics, parkedTopics, topics, type Topic } from '../../../schemas/topics.ts';
import { MemoryEventStore } from '../../../shared/event-store/event-store.memory.ts';
import { MemoryMessageBus } from '../../../shared/message-bus/message-bus.memory.ts';
import { MessageMacs } from '../../../shared/message-bus/genuine/message-macs.ts';
import { signedFrom } from '../../../shared/message-bus/genuine/signed-from.ts';
import type { BusMessage } from '../../../shared/message-bus/message-bus.ts';
import { MemoryReadStore } from '../../../shared/read-store/read-store.memory.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { BatchPublisher } from './publish-batch.ts';
import { relayLoop } from './relay-loop.ts';

const edgeKey = Buffer.alloc(32, 7);
const contract = '0x5fbdb2315678afecb367f032d93f642f64180aa3';
const wallet = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8';
const streams: Partial<Record<keyof typeof eventExamples, string>> = {
  UserLoggedIn: `user-${wallet}`,
  ContractRegistered: 'watch-wch_1',
  WatchExtended: 'watch-wch_1',
  WatchShortened: 'watch-wch_1',
  WatchPaused: 'watch-wch_1',
  WatchResumed: 'watch-wch_1',
  WatchRemoved: 'watch-wch_1',
  ChainEventObserved: `chain-2484-${contract}`,
  ChainEventReverted: `chain-2484-${contract}`,
};

const aSystem = async (messageBus = new MemoryMessageBus()) => {
  const system = {
    eventStore: new MemoryEventStore(),
    messageBus,
    readStore: new MemoryReadStore(),
    edgeKey,
    logger: pino({ level: 'silent' }),
  };
  await system.messageBus.createTopics(allTopics);
  return system;
};
type System = Awaited<ReturnType<typeof aSystem>>;

const appendExamples = async ({ eventStore }: System): Promise<void> => {
  for (const [type, data] of Object.entries(eventExamples)) {
    const stream = streams[type as keyof typeof eventExamples] ?? `other-${type}`;
    const revision = (await eventStore.read(stream)).length - 1;
    await eventStore.append(stream, revision, [anEvent({ type, data })]);
  }
};

const published = async ({ messageBus }: Pick<System, 'messageBus'>, topic: Topic): Promise<BusMessage[]> => {
  const stop = new AbortController();
  const messages: BusMessage[] = [];
  setImmediate(() => {
    stop.abort();
  });
  for await (const batch of messageBus.consume(topic, await messageBus.offsets(topic, 'earliest'), stop.signal)) {
    messages.push(...batch.messages);
  }
  return messages;
};

const relayAll = async (system: System): Promise<void> => {
  const relay = relayLoop(system);
  relay.start();
  const head = await system.eventStore.head();
  await eventually(
    async () => (await system.readStore.position('relay-v1')) === head,
    2_000,
    'the relay must reach the head of the event store',
  );
  await relay.stop();
};

describe('relay', () => {
  it('publishes each event under the key of its topic, and nothing of sessions, challenges, identities or apps', async () => {
    const system = await aSystem();
    await appendExamples(system);
    await relayAll(system);
    const users = await published(system, topics.users);
    expect(users.map(({ key, headers }) => [headers['ce_type'], key])).toContainEqual([
      'annals.UserLoggedIn.v1',
      wallet,
    ]);
    expect(new Set(users.map(({ headers }) => headers['ce_type']))).toEqual(
      new Set(topics.users.events.map((type) => `annals.${type}.v1`)),
    );
    for (const topic of [topics.contracts, topics.chainEvents]) {
      const messages = await published(system, topic);
      expect(messages).toHaveLength(topic.events.length);
      expect(messages.every(({ key }) => key === `eip155:2484/${contract}`)).toBe(true);
    }
  });

  it('publishes events as CloudEvents, with their data as it is stored', async () => {
    const system = await aSystem();
    await appendExamples(system);
    await relayAll(system);
    const [stored] = await system.eventStore.read(`chain-2484-${contract}`);
    const [message] = await published(system, topics.chainEvents);
    expect(message).toMatchObject({ value: stored?.dataText, timestamp: stored?.time });
    expect(message?.headers).toEqual({
      'content-type': 'application/json',
      ce_specversion: '1.0',
      ce_id: stored?.id,
      ce_type: 'annals.ChainEventObserved.v1',
      ce_source: '/annals/event-store',
      ce_subject: `chain-2484-${contract}`,
      ce_time: '2023-11-14T22:13:20.000Z',
      ce_dataschema: 'https://annals.dev/schemas/ChainEventObserved.v1.json',
      ce_sequence: '0',
      ce_position: String(stored?.position),
      ce_correlationid: 'request-1',
      ce_annalsmac: expect.stringMatching(/^[\w-]{22}$/),
    });
  });

  it('signs nothing where nobody else can write, and begins to once somebody can', async () => {
    const embedded = await aSystem(new MemoryMessageBus(undefined, true));
    await appendExamples(embedded);
    await relayAll(embedded);
    const messages = await published(embedded, topics.chainEvents);
    expect(messages).not.toHaveLength(0);
    for (const { headers } of messages) expect(headers).not.toHaveProperty('ce_annalsmac');
    const onBroker = { ...embedded, messageBus: new MemoryMessageBus() };
    await relayAll(onBroker);
    // Nothing that is unsigned there was published by a relay.
    expect(await signedFrom(onBroker, topics.chainEvents)).toEqual({ position: 0, offsets: new Map() });
    await appendExamples(embedded);
    await relayAll(onBroker);
    const signed = await published(onBroker, topics.chainEvents);
    expect(signed).toHaveLength(messages.length);
    for (const { headers } of signed) expect(headers).toHaveProperty('ce_annalsmac');
  });

  it('publishes the id of the event that caused one, and its trace', async () => {
    const system = await aSystem();
    const causationId = 'c0ffee00-0000-4000-8000-000000000000';
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const event = anEvent({ type: 'UserLoggedIn', data: eventExamples.UserLoggedIn });
    await system.eventStore.append(`user-${wallet}`, -1, [
      { ...event, metadata: { ...event.metadata, causationId, traceparent } },
    ]);
    await relayAll(system);
    const [message] = await published(system, topics.users);
    expect(message?.headers).toMatchObject({ ce_id: event.id, ce_causationid: causationId, traceparent });
  });

  it('names in its checkpoint the newest event that is never forgotten, published or not', async () => {
    const system = await aSystem();
    await appendExamples(system);
    const newest = anEvent();
    await system.eventStore.append('session-1', -1, [newest]);
    const { position } = await system.eventStore.append('chain-2484', -1, [anEvent()]);
    await relayAll(system);
    expect((await system.readStore.checkpoints()).get('relay-v1')).toEqual({
      position,
      event: { id: newest.id, stream: 'session-1', revision: 0, position: position - 1 },
    });
  });

  it('gathers what arrives steadily into fewer requests', async () => {
    const system = await aSystem();
    const calls: number[] = [];
    const publish = system.messageBus.publish.bind(system.messageBus);
    system.messageBus.publish = (topic, messages) => {
      calls.push(messages.length);
      return publish(topic, messages);
    };
    const relay = relayLoop(system);
    relay.start();
    const some = () =>
      Array.from({ length: 20 }, () => anEvent({ type: 'ChainEventObserved', data: eventExamples.ChainEventObserved }));
    for (let append = 0; append < 100; append += 1) {
      await system.eventStore.append(`chain-2484-${contract}`, append * 20 - 1, some());
      await new Promise((resolve) => setImmediate(resolve));
    }
    const head = await system.eventStore.head();
    await eventually(
      async () => (await system.readStore.position('relay-v1')) === head,
      10_000,
      'the checkpoint must reach the head',
    );
    await relay.stop();
    expect(calls.reduce((sum, count) => sum + count, 0)).toBe(2_000);
    expect(calls.length).toBeLessThan(25);
  });

  it('continues from its checkpoint after a restart', async () => {
    const system = await aSystem();
    await appendExamples(system);
    await relayAll(system);
    const before = await published(system, topics.chainEvents);
    await system.eventStore.append(`chain-2484-${contract}`, 1, [
      anEvent({ type: 'ChainEventObserved', data: eventExamples.ChainEventObserved }),
    ]);
    await relayAll(system);
    const after = await published(system, topics.chainEvents);
    expect(after).toHaveLength(before.length + 1);
    expect(new Set(after.map(({ headers }) => headers['ce_id'])).size).toBe(after.length);
  });

  it('parks an event that can never be published, with the reason, and publishes the later events of its key', async () => {
    const system = await aSystem();
    const stream = `chain-2484-${contract}`;
    const tooLarge = { ...eventExamples.ChainEventObserved, Data: { text: 'x'.repeat(1_000_000) } };
    await system.eventStore.append('watch-wch_1', -1, [anEvent({ type: 'ContractRegistered', data: { odd: true } })]);
    await system.eventStore.append(stream, -1, [
      anEvent({ type: 'ChainEventObserved', data: eventExamples.ChainEventObserved }),
      anEvent({ type: 'ChainEventObserved', data: tooLarge }),
      anEvent({ type: 'ChainEventObserved', data: eventExamples.ChainEventObserved }),
    ]);
    await relayAll(system);
    expect((await published(system, topics.chainEvents)).map(({ headers }) => headers['ce_sequence'])).toEqual([
      '0',
      '2',
    ]);
    expect(await published(system, parkedTopics.chainEvents)).toMatchObject([
      {
        key: `eip155:2484/${contract}`,
        value: null,
        headers: {
          ce_sequence: '1',
          ce_subject: stream,
          ce_type: 'annals.ChainEventObserved.v1',
          ce_parkedpolicy: 'continue',
          ce_parkedreason: expect.stringMatching(/bytes/),
        },
      },
    ]);
    expect(await published(system, topics.contracts)).toEqual([]);
    expect(await published(system, parkedTopics.contracts)).toMatchObject([
      { key: 'watch-wch_1', value: '{"odd":true}', headers: { ce_parkedreason: expect.any(String) } },
    ]);
  });

  it('repeats only the failed part of a batch of large events when the bus fails', async () => {
    const system = await aSystem();
    const large = { ...eventExamples.ChainEventObserved, Data: { text: 'x'.repeat(900_000) } };
    const events = Array.from({ length: 14 }, () => anEvent({ type: 'ChainEventObserved', data: large }));
    await system.eventStore.append(`chain-2484-${contract}`, -1, events);
    const calls: number[] = [];
    const publish = system.messageBus.publish.bind(system.messageBus);
    system.messageBus.publish = (topic, messages) => {
      calls.push(messages.length);
      return calls.length === 3 ? Promise.reject(new Error('the bus is away')) : publish(topic, messages);
    };
    await relayAll(system);
    expect(calls).toEqual([5, 5, 4, 4]);
    const sequence = (await published(system, topics.chainEvents)).map(({ headers }) => Number(headers['ce_sequence']));
    expect(sequence).toEqual(events.map((_, at) => at));
  });

  it('publishes no further message of its batch after the signal has aborted', async () => {
    const { eventStore, messageBus, logger } = await aSystem();
    await eventStore.append(`user-${wallet}`, -1, [
      anEvent({ type: 'UserLoggedIn', data: eventExamples.UserLoggedIn }),
    ]);
    await eventStore.append('watch-wch_1', -1, [
      anEvent({ type: 'ContractRegistered', data: eventExamples.ContractRegistered }),
    ]);
    const { events } = await eventStore.readAll(0, undefined, 10);
    const stop = new AbortController();
    const publish = messageBus.publish.bind(messageBus);
    messageBus.publish = async (...args) => {
      await publish(...args);
      stop.abort(new Error('another process has its lease'));
    };
    await expect(
      new BatchPublisher(messageBus, new MessageMacs(edgeKey), logger).publish(events, stop.signal),
    ).rejects.toThrow('its lease');
    expect(await published({ messageBus }, topics.users)).toHaveLength(1);
    expect(await published({ messageBus }, topics.contracts)).toHaveLength(0);
  });

  it('restarts when its checkpoint cannot be saved, even if no further event follows', async () => {
    const system = await aSystem();
    const apply = system.readStore.apply.bind(system.readStore);
    let saves = 0;
    system.readStore.apply = (...args) => {
      saves += 1;
      return saves === 2 ? Promise.reject(new Error('the store is away')) : apply(...args);
    };
    const relay = relayLoop(system);
    relay.start();
    const hasReachedTheHead = async () =>
      (await system.readStore.position('relay-v1')) === (await system.eventStore.head());
    for (const revision of [-1, 0]) {
      await system.eventStore.append(`chain-2484-${contract}`, revision, [
        anEvent({ type: 'ChainEventObserved', data: eventExamples.ChainEventObserved }),
      ]);
      await eventually(hasReachedTheHead, 10_000, 'the checkpoint must reach the head');
    }
    await relay.stop();
    expect(saves).toBeGreaterThanOrEqual(3);
  });

  it('retries while the bus fails, and loses no event', async () => {
    const system = await aSystem();
    await appendExamples(system);
    let refusals = 3;
    const publish = system.messageBus.publish.bind(system.messageBus);
    system.messageBus.publish = (topic, messages) => {
      refusals -= 1;
      return refusals >= 0 ? Promise.reject(new Error('the bus is away')) : publish(topic, messages);
    };
    await relayAll(system);
    expect(refusals).toBeLessThan(0);
    expect(await published(system, topics.chainEvents)).toHaveLength(2);
  });
});
