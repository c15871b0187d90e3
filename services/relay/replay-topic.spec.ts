import { beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { eventExamples } from '../../schemas/examples/event-examples.ts';
import { allTopics, parkedTopics, topics, type Topic } from '../../schemas/topics.ts';
import type { EventToAppend } from '../../shared/event-store/event-store.ts';
import type { BusMessage } from '../../shared/message-bus/message-bus.ts';
import { readRange } from '../../shared/message-bus/read-range.ts';
import { MemoryEventStore } from '../../shared/testing/engines/event-store.memory.ts';
import { MemoryMessageBus } from '../../shared/testing/engines/message-bus.memory.ts';
import { MemoryReadStore } from '../../shared/testing/engines/read-store.memory.ts';
import { anEvent } from '../../shared/testing/event-builder.ts';
import { eventually } from '../../shared/testing/eventually.ts';
import { TestClock } from '../../shared/testing/test-foundation.ts';
import { RELAY_CHECKPOINT } from './publish-events/checkpoint.ts';
import { relayLoop } from './publish-events/relay-loop.ts';
import { rangeOf, replayTopic } from './replay-topic.ts';

const DAY_MS = 86_400_000;
const clock = new TestClock();
const topic = topics.users;
const login = (time = clock.now()): EventToAppend =>
  anEvent({ type: 'UserLoggedIn', data: eventExamples.UserLoggedIn, time });
const idOf = ({ headers }: BusMessage) => headers['ce_id'];

describe('a replay of a topic', () => {
  const running = new AbortController().signal;
  let eventStore: MemoryEventStore;
  let readStore: MemoryReadStore;
  let messageBus: MemoryMessageBus;
  beforeEach(async () => {
    eventStore = new MemoryEventStore();
    readStore = new MemoryReadStore();
    messageBus = new MemoryMessageBus();
    await messageBus.createTopics(allTopics);
  });
  const system = () => ({
    ...{ eventStore, readStore, messageBus, clock },
    ...{ edgeKey: Buffer.alloc(32, 7), logger: pino({ level: 'silent' }) },
  });
  const relayAll = async (): Promise<void> => {
    const relay = relayLoop(system());
    relay.start();
    const head = await eventStore.head();
    const hasReached = async () => (await readStore.position(RELAY_CHECKPOINT)) === head;
    await eventually(hasReached, 10_000, 'the relay must reach the head of the event store');
    await relay.stop();
  };
  const messagesOf = async (of: Topic): Promise<BusMessage[]> => {
    const ends = await messageBus.offsets(of, 'latest');
    const messages: BusMessage[] = [];
    for (const [partition, until] of ends) {
      for await (const some of readRange(messageBus, of, { partition, from: '0', until }, running))
        messages.push(...some);
    }
    return messages;
  };
  /** Puts a bus in the place of the bus that has only some of its messages. */
  const lose = async (isLost: (message: BusMessage) => boolean): Promise<void> => {
    const kept = new MemoryMessageBus();
    await kept.createTopics(allTopics);
    for (const one of allTopics) {
      await kept.publish(
        one,
        (await messagesOf(one)).filter((message) => !isLost(message)),
      );
    }
    messageBus = kept;
  };
  const append = async (...events: EventToAppend[]): Promise<void> => {
    const revision = (await eventStore.read('user-usr_1')).length - 1;
    await eventStore.append('user-usr_1', revision, events);
  };
  const replay = async ({ dryRun = false, signal = running } = {}) => {
    const range = { from: 1, to: await eventStore.head() };
    return replayTopic(system(), { topic: 'users', ...range, dryRun }, signal, () => undefined);
  };

  it('publishes what was lost as the relay did, in the order of the store, and again nothing', async () => {
    const events = Array.from({ length: 5 }, () => login());
    await append(...events);
    await relayAll();
    const before = await messagesOf(topic);
    const lost = [events[1]?.id, events[3]?.id];
    await lose((message) => lost.includes(idOf(message)));
    clock.time += 1_000;

    const counts = { events: 5, tooOld: 0, lost: 2, byKey: [{ key: 'usr_1', type: 'UserLoggedIn', lost: 2 }] };
    expect(await replay({ dryRun: true })).toMatchObject({ ...counts, published: 0, interrupted: false });
    expect(await messagesOf(topic)).toHaveLength(3);

    expect(await replay()).toMatchObject({ ...counts, published: 2 });
    const after = (await messagesOf(topic)).slice(3);
    const withoutPlace = ({ headers, key, value }: BusMessage) => ({ headers, key, value });
    expect(after.map(withoutPlace)).toEqual(before.filter((one) => lost.includes(idOf(one))).map(withoutPlace));
    expect(after.map(({ timestamp }) => timestamp)).toEqual([clock.now(), clock.now()]);
    expect(await replay()).toMatchObject({ events: 5, lost: 0, published: 0 });
  });

  it('finds messages that were published again only, and takes no forged message for the lost one', async () => {
    const events = [login(), login()];
    await append(...events);
    await relayAll();
    await lose(() => true);
    const [id = ''] = events.map((one) => one.id);
    const forged = { ce_id: id, ce_annalsmac: 'A'.repeat(22) };
    await messageBus.publish(topic, [{ key: 'usr_1', headers: forged, value: '{}', timestamp: clock.now() }]);
    expect(await replay()).toMatchObject({ lost: 2, published: 2 });
    await append(login());
    await relayAll();
    expect(await replay()).toMatchObject({ events: 3, lost: 0 });
  });

  it('takes a parked message for a published one, and parks again what lost even that', async () => {
    const unpublishable = anEvent({ type: 'UserLoggedIn', data: { text: 'x'.repeat(1_000_000) }, time: clock.now() });
    await append(login(), unpublishable);
    await relayAll();
    expect(await replay()).toMatchObject({ events: 2, lost: 0 });
    await lose(() => true);
    expect(await replay()).toMatchObject({ lost: 2, published: 2 });
    expect((await messagesOf(parkedTopics.users)).map(idOf)).toEqual([unpublishable.id]);
    expect(await replay()).toMatchObject({ lost: 0 });
  });

  it('leaves out what the topic need not keep, and what the relay has not published yet', async () => {
    await append(login(clock.now() - topic.retentionMs - DAY_MS), login());
    await relayAll();
    await lose(() => true);
    const relayed = await eventStore.head();
    await append(login());
    expect(await replay()).toMatchObject({ events: 1, tooOld: 1, lost: 1, relayed });
  });

  it('stops between two pieces, says what it did, and goes on from there', async () => {
    const events = Array.from({ length: 700 }, () => login());
    await append(...events);
    await relayAll();
    await lose(() => true);
    const stop = new AbortController();
    const publish = messageBus.publish.bind(messageBus);
    messageBus.publish = async (...args) => {
      await publish(...args);
      stop.abort(new Error('interrupted'));
    };
    expect(await replay({ signal: stop.signal })).toMatchObject({ published: 500, interrupted: true });
    messageBus.publish = publish;
    expect(await replay()).toMatchObject({ events: 700, lost: 200, published: 200, interrupted: false });
    expect((await messagesOf(topic)).map(idOf)).toEqual(events.map(({ id }) => id));
  });

  it('finds a range by times: the first event that is not earlier, and the last before the first that is later', async () => {
    await append(login(1_000), login(2_000), login(2_000), login(3_000));
    await eventStore.append('session-1', -1, [anEvent({ time: 2_500 })]);
    const range = (from: number, to: number) =>
      rangeOf(eventStore, 'users', { from: { time: from }, to: { time: to } }, running, () => undefined);
    expect(await range(1_500, 2_000)).toEqual({ from: 2, to: 3 });
    expect(await range(0, 3_000)).toEqual({ from: 1, to: 5 });
    expect(await range(2_400, 2_600)).toEqual({ from: 4, to: 3 });
    expect(await range(3_001, 4_000)).toEqual({ from: 6, to: 5 });
  });
});
