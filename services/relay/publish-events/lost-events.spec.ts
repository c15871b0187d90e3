import { expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { allTopics, topics } from '../../../schemas/topics.ts';
import type { BusMessage } from '../../../shared/message-bus/message-bus.ts';
import { MemoryEventStore } from '../../../shared/testing/engines/event-store.memory.ts';
import { MemoryMessageBus } from '../../../shared/testing/engines/message-bus.memory.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { keyOf } from './address-event.ts';
import { toCloudEvent } from './cloud-event.ts';
import { LostEvents, type Piece } from './lost-events.ts';

const EVENTS = 20;
const WINDOW = 3;
const SECOND_MS = 1_000;

it('lost events are found some at a time, wherever the others are, and each partition is read no further than necessary', async () => {
  const eventStore = new MemoryEventStore();
  for (let at = 0; at < EVENTS; at += 1) {
    const login = anEvent({ type: 'UserLoggedIn', data: eventExamples.UserLoggedIn, time: at * SECOND_MS });
    await eventStore.append(`user-usr_${String(at)}`, -1, [login]);
    await eventStore.append(`session-${String(at)}`, -1, [anEvent({ time: at * SECOND_MS })]);
  }
  const { events } = await eventStore.readAll(0, { types: ['UserLoggedIn'] }, EVENTS);
  const lost = [events[4], events[5], events[13]];
  const messageBus = new MemoryMessageBus();
  await messageBus.createTopics(allTopics);
  const published = events.filter((event) => !lost.includes(event));
  await messageBus.publish(
    topics.users,
    published.map((event) => toCloudEvent(event, keyOf(event))),
  );
  const read: string[] = [];
  const genuine = () => ({
    filter: (messages: readonly BusMessage[]) => {
      read.push(...messages.map(({ offset, partition }) => `${String(partition)}:${offset}`));
      return Promise.resolve(messages);
    },
  });
  const pieces: Piece[] = [];
  const region = { topic: 'users', from: 1, to: await eventStore.head(), keptSince: 2 * SECOND_MS } as const;
  const finder = new LostEvents({ eventStore, messageBus, genuine }, WINDOW);
  for await (const piece of finder.find(region, new AbortController().signal)) pieces.push(piece);
  const sum = (of: 'compared' | 'tooOld') => pieces.reduce((all, piece) => all + piece[of], 0);
  expect(pieces.flatMap((piece) => piece.lost.map(({ id }) => id))).toEqual(lost.map((event) => event?.id));
  expect([sum('compared'), sum('tooOld')]).toEqual([EVENTS - 2, 2]);
  expect(pieces.at(-1)?.position).toBe(region.to);
  expect(pieces.filter(({ compared }) => compared > 0)).toHaveLength((EVENTS - 2) / WINDOW);
  // Only the partitions of lost events are read to their end.
  expect(read.length).toBeLessThan(2 * EVENTS);
});
