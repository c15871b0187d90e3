import { describe, expect, it } from '@jest/globals';
import { LOG_STREAM } from '../../../schemas/events/account/log-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { StoredEvent } from '../../event-store/event-store.ts';
import { anEvent } from '../../testing/event-builder.ts';
import { projectStored } from '../../testing/project.ts';
import { testFoundation } from '../../testing/test-foundation.ts';
import { ComputedSeals } from './computed-seals.ts';
import { SealedHistories } from './sealed-histories.ts';

const changeOf = (userId: string) =>
  anEvent({ type: 'ProfileUpdated', data: { ...eventExamples.ProfileUpdated, userId, changes: { username: 'x' } } });

/** Two seals: of two histories, and of three. */
const sealedTwice = async () => {
  const foundation = await testFoundation();
  const { eventStore, readStore } = foundation;
  const seal = async (revision: number) => {
    await projectStored(foundation);
    const now = await new SealedHistories(eventStore, readStore).treeNow();
    const data = { users: now?.tree.users ?? 0, root: now?.tree.root.toString('base64') ?? '' };
    const event = anEvent({ type: 'HistoriesSealed', data });
    const metadata = { ...event.metadata, ...(now && { causationId: now.upTo.id }) };
    // Somebody goes on while histories are sealed.
    await eventStore.append('user-usr_9', revision, [changeOf('usr_9')]);
    await eventStore.append(LOG_STREAM, revision, [{ ...event, metadata }]);
  };
  await eventStore.append('user-usr_1', -1, [changeOf('usr_1'), changeOf('usr_1')]);
  await eventStore.append('user-usr_2', -1, [changeOf('usr_2')]);
  await seal(-1);
  await eventStore.append('user-usr_2', 0, [changeOf('usr_2')]);
  await seal(0);
  const { events } = await eventStore.readAll(0, undefined, Infinity);
  return events;
};

/** The event with other members. */
const like = (event: StoredEvent | undefined, changes: Partial<StoredEvent>): StoredEvent => {
  if (!event) throw new Error('there is such an event');
  const { stream, revision, position, id, type, schemaVersion, time, dataText, data, metadata } = event;
  return { ...{ stream, revision, position, id, type, schemaVersion, time, dataText, data, metadata }, ...changes };
};

const computed = async (events: readonly StoredEvent[]) => {
  const seals = await ComputedSeals.of({
    read: (stream) => Promise.resolve(events.filter((event) => event.stream === stream)),
  });
  for (const event of events) seals.add(event);
  return seals.result();
};

describe('the seals of histories, computed from the events', () => {
  it('are right where nothing was changed', async () => {
    expect(await computed(await sealedTwice())).toEqual({ right: 2, wrong: [] });
  });

  it.each([
    ['an event of a history is missing', (events: StoredEvent[]) => events.toSpliced(1, 1), [0, 1]],
    ['an event was added', (e: StoredEvent[]) => e.toSpliced(1, 0, like(e[1], { id: 'other' })), [0, 1]],
    ['an event is another', (e: StoredEvent[]) => e.with(0, like(e[0], { time: 1 })), [0, 1]],
    ['a later event is another', (e: StoredEvent[]) => e.with(5, like(e[5], { time: 1 })), [1]],
    [
      'a seal has another number of users',
      (e: StoredEvent[]) => e.with(4, like(e[4], { data: { ...e[4]?.data, users: 3 } })),
      [0],
    ],
  ])('are wrong where %s', async (_, change, revisions) => {
    const events = await sealedTwice();
    const { right, wrong } = await computed(change(events));
    expect(wrong.map(({ revision }) => revision)).toEqual(revisions);
    expect(wrong[0]?.why).toBe('the histories are not as they were sealed');
    expect(right).toBe(2 - revisions.length);
  });

  it('are wrong where they name no event, or one that comes later', async () => {
    const events = await sealedTwice();
    const { causationId: _, ...metadata } = events[4]?.metadata ?? {
      correlationId: '',
      actor: { type: 'system', id: '' },
    };
    for (const changed of [metadata, { ...metadata, causationId: events[5]?.id ?? '' }]) {
      const { wrong } = await computed(events.with(4, like(events[4], { metadata: changed })));
      expect(wrong[0]).toEqual({ revision: 0, why: expect.stringContaining('names no event before it') });
    }
  });
});
