import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HistoryThread } from '../../../shared/audit/history-thread.ts';
import type { ReadStreamOptions, StoredEvent } from '../../../shared/event-store/event-store.ts';
import { MemoryEventStore } from '../../../shared/event-store/event-store.memory.ts';
import { personalDataOf, type PersonalData } from '../../../shared/key-vault/personal-data.ts';
import { QueryBudget } from '../../../shared/read-store/query-budget.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { UserSnapshots } from './user-snapshots.ts';

const userId = 'usr_1';
const CHANGES = 350;
const budget = new QueryBudget({ caller: userId });

/** Counts the events that are read. */
class CountedEvents extends MemoryEventStore {
  eventsRead = 0;

  override async read(stream: string, options?: ReadStreamOptions): Promise<StoredEvent[]> {
    const events = await super.read(stream, options);
    this.eventsRead += events.length;
    return events;
  }
}

describe('a user as it was', () => {
  const eventStore = new CountedEvents();
  const thread = new HistoryThread();
  let personalData: PersonalData;
  let snapshots: UserSnapshots;
  beforeAll(async () => {
    personalData = personalDataOf({ ...(await testFoundation()), eventStore });
    snapshots = new UserSnapshots(eventStore, personalData, thread);
    const events = [
      anEvent({ type: 'UserRegistered', data: { userId }, time: 1_000 }),
      ...Array.from({ length: CHANGES }, (_, change) =>
        anEvent({
          type: 'ProfileUpdated',
          data: { userId, changes: { username: `name ${String(change)}` } },
          // The clock of another process is behind.
          time: 2_000 + change - (change % 50 === 7 ? 20 : 0),
        }),
      ),
    ];
    const sealed = await Promise.all(events.map((event) => personalData.seal(event)));
    await eventStore.append('user-usr_1', -1, sealed);
  });
  afterAll(() => thread.close());

  const nameAt = async (asOf: { position?: number; time?: number }) =>
    (await snapshots.at(userId, { position: Infinity, time: Infinity, ...asOf }, budget))?.username;

  it('is the fold of all events up to a position, whichever snapshots there are', async () => {
    for (const position of [351, 2, 3, 100, 101, 102, 200, 201, 202, 300, 301, 302, 303, 350]) {
      expect(await nameAt({ position })).toBe(`name ${String(position - 2)}`);
    }
    expect(await nameAt({ position: 1 })).toBeNull();
    expect(await nameAt({ position: 0 })).toBeUndefined();
    expect(await nameAt({ position: 10_000 })).toBe('name 349');
  });

  it('is the fold of all events before the first that is later than a time', async () => {
    const fresh = new UserSnapshots(eventStore, personalData, thread);
    for (const some of [snapshots, fresh]) {
      const at = async (time: number) => (await some.at(userId, { position: Infinity, time }, budget))?.username;
      expect(await at(2_100)).toBe('name 100');
      expect(await at(2_206)).toBe('name 207');
      expect(await at(2_190)).toBe('name 190');
      expect(await at(1_999)).toBeNull();
      expect(await at(999)).toBeUndefined();
    }
  });

  it('costs a hundred events at most once a longer history was read', async () => {
    await nameAt({});
    for (const position of [60, 340, 351, 199]) {
      eventStore.eventsRead = 0;
      await nameAt({ position });
      expect(eventStore.eventsRead).toBeLessThanOrEqual(101);
    }
  });

  it('is read from snapshots that go with the key of the user', async () => {
    await nameAt({});
    await personalData.keys.destroyKeysOf(userId);
    await expect(nameAt({})).rejects.toMatchObject({ code: 'user_erased' });
  });
});
