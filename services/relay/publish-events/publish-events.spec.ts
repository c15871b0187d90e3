import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { allTopics, parkedTopics, topics, type Topic } from '../../../schemas/topics.ts';
import { MemoryEventStore } from '../../../shared/testing/engines/event-store.memory.ts';
import { MemoryMessageBus } from '../../../shared/testing/engines/message-bus.memory.ts';
import { MessageMacs } from '../../../shared/message-bus/genuine/message-macs.ts';
import { signedFrom } from '../../../shared/message-bus/genuine/signed-from.ts';
import type { BusMessage } from '../../../shared/message-bus/message-bus.ts';
import { MemoryReadStore } from '../../../shared/testing/engines/read-store.memory.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { inSimulatedTime } from '../../../shared/testing/simulation/simulated-globals.ts';
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

const observation = (data: object = {}) =>
  anEvent({ type: 'ChainEventObserved', data: { ...eventExamples.ChainEventObserved, ...data } });
/** Appends observed records of the contract after this revision. */
const observe = ({ eventStore }: System, revision: number, events = [observation()]) =>
  eventStore.append(`chain-2484-${contract}`, revision, events);

/** Makes the bus refuse some calls, by their number, and notes how many messages each has. */
const refusing = ({ messageBus }: System, isRefused: (call: number) => boolean): number[] => {
  const calls: number[] = [];
  const publish = messageBus.publish.bind(messageBus);
  messageBus.publish = (topic, messages) => {
    calls.push(messages.length);
    return isRefused(calls.length) ? Promise.reject(new Error('the bus is away')) : publish(topic, messages);
  };
  return calls;
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

const reachesHead = ({ readStore, eventStore }: System) => {
  const hasReached = async () => (await readStore.position('relay-v1')) === (await eventStore.head());
  return eventually(hasReached, 10_000, 'the relay must reach the head of the event store');
};

const relayAll = async (system: System): Promise<void> => {
  const relay = relayLoop(system);
  relay.start();
  await reachesHead(system);
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
    expect(message?.headers).toMatchObject({
      ...{ ce_id: stored?.id, ce_subject: `chain-2484-${contract}`, ce_position: String(stored?.position) },
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
    // No unsigned message there was published by a relay.
    expect(await signedFrom(onBroker, topics.chainEvents)).toEqual({ position: 0, offsets: new Map() });
    await appendExamples(embedded);
    await relayAll(onBroker);
    const signed = await published(onBroker, topics.chainEvents);
    expect(signed).toHaveLength(messages.length);
    for (const { headers } of signed) expect(headers).toHaveProperty('ce_annalsmac');
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

  /** Returns how many requests a hundred appends cost, one in each millisecond. */
  const requestsFor = (perAppend: number): Promise<number> =>
    inSimulatedTime(async (time) => {
      const system = await aSystem();
      const calls = refusing(system, () => false);
      const relay = relayLoop(system);
      relay.start();
      for (let append = 0; append < 100; append += 1) {
        const some = Array.from({ length: perAppend }, () => observation());
        await observe(system, append * perAppend - 1, some);
        await time.pause(1);
      }
      await reachesHead(system);
      await relay.stop();
      expect(calls.reduce((sum, count) => sum + count, 0)).toBe(100 * perAppend);
      return calls.length;
    });

  it('gathers many events that arrive steadily into fewer requests, and keeps back no few', async () => {
    expect(await requestsFor(80)).toBeLessThan(25);
    expect(await requestsFor(20)).toBeGreaterThan(50);
  });

  it('continues from its checkpoint after a restart', async () => {
    const system = await aSystem();
    await appendExamples(system);
    await relayAll(system);
    const before = await published(system, topics.chainEvents);
    await observe(system, 1);
    await relayAll(system);
    const after = await published(system, topics.chainEvents);
    expect(after).toHaveLength(before.length + 1);
    expect(new Set(after.map(({ headers }) => headers['ce_id'])).size).toBe(after.length);
  });

  it('parks an event that can never be published, with the reason, and publishes the later events of its key', async () => {
    const system = await aSystem();
    const stream = `chain-2484-${contract}`;
    const tooLarge = observation({ Data: { text: 'x'.repeat(1_000_000) } });
    await system.eventStore.append('watch-wch_1', -1, [anEvent({ type: 'ContractRegistered', data: { odd: true } })]);
    await observe(system, -1, [observation(), tooLarge, observation()]);
    await relayAll(system);
    expect((await published(system, topics.chainEvents)).map(({ headers }) => headers['ce_sequence'])).toEqual([
      '0',
      '2',
    ]);
    const parked = { ce_sequence: '1', ce_subject: stream, ce_parkedreason: expect.stringMatching(/bytes/) };
    expect(await published(system, parkedTopics.chainEvents)).toMatchObject([
      { key: `eip155:2484/${contract}`, value: null, headers: parked },
    ]);
    expect(await published(system, topics.contracts)).toEqual([]);
    expect(await published(system, parkedTopics.contracts)).toMatchObject([
      { key: 'watch-wch_1', value: '{"odd":true}', headers: { ce_parkedreason: expect.any(String) } },
    ]);
  });

  it('repeats only the failed part of a batch of large events when the bus fails', async () => {
    const system = await aSystem();
    const events = Array.from({ length: 14 }, () => observation({ Data: { text: 'x'.repeat(900_000) } }));
    await observe(system, -1, events);
    const calls = refusing(system, (call) => call === 3);
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
    for (const revision of [-1, 0]) {
      await observe(system, revision);
      await reachesHead(system);
    }
    await relay.stop();
    expect(saves).toBeGreaterThanOrEqual(3);
  });

  it('retries while the bus fails, and loses no event', async () => {
    const system = await aSystem();
    await appendExamples(system);
    const calls = refusing(system, (call) => call <= 3);
    await relayAll(system);
    expect(calls.length).toBeGreaterThan(3);
    expect(await published(system, topics.chainEvents)).toHaveLength(2);
  });
});
