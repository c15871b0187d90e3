import { expect, it } from '@jest/globals';
import { MemoryEventStore } from '../../../shared/testing/engines/event-store.memory.ts';
import { personalDataOf } from '../../../shared/key-vault/personal-data.ts';
import { collections } from '../../../shared/read-models/catalogue.ts';
import { usersModel } from '../../../shared/read-models/account/users.ts';
import { MemoryReadStore } from '../../../shared/testing/engines/read-store.memory.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { EVENTS_PER_TICK, followEvents } from './follow-events.ts';

it('a version beside the one that is read leaves the thread to others after every so many events', async () => {
  const [eventStore, readStore, stop] = [new MemoryEventStore(), new MemoryReadStore(), new AbortController()];
  await readStore.define(collections);
  const personalData = personalDataOf(await testFoundation());
  const users = Array.from({ length: 1_250 }, (_, at) => `usr_${String(at)}`);
  for (const userId of users)
    await eventStore.append(`user-${userId}`, -1, [anEvent({ type: 'UserRegistered', data: { userId } })]);
  let ticks = 0;
  const countTick = () => {
    ticks += 1;
    if (!stop.signal.aborted) setImmediate(countTick);
  };
  const stored: { position: number; documents: number; ticks: number }[] = [];
  const apply = readStore.apply.bind(readStore);
  readStore.apply = async (name, changes, position, event) => {
    stored.push({ position, documents: changes.length, ticks });
    await apply(name, changes, position, event);
    if (position === users.length) stop.abort();
  };
  countTick();
  await followEvents(
    usersModel,
    { eventStore, readStore, personalData },
    stop.signal,
    () => undefined,
    EVENTS_PER_TICK,
  );
  expect(stored.map(({ position, documents }) => [position, documents])).toEqual([
    [500, 500],
    [1_000, 500],
    [1_250, 250],
  ]);
  const [first, second, third] = stored.map((one) => one.ticks);
  expect(second).toBeGreaterThan(first ?? NaN);
  expect(third).toBeGreaterThan(second ?? NaN);
  expect(await readStore.count(usersModel.collections.user.name, {})).toBe(users.length);
});
