import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HistoryThread } from '../../../../shared/audit/history-thread.ts';
import type { ReadStreamOptions, StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { MemoryEventStore } from '../../../../shared/testing/engines/event-store.memory.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { personalDataOf, type PersonalData } from '../../../../shared/key-vault/personal-data.ts';
import { EVENTS_PER_SNAPSHOT, userSnapshotsModel } from '../../../../shared/read-models/account/user-snapshots.ts';
import { entityOf, evolveUser, type UserDocument } from '../../../../shared/read-models/account/users.ts';
import { QueryBudget } from '../../../../shared/read-store/query-budget.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { projectStored } from '../../../../shared/testing/project.ts';
import { testFoundation } from '../../../../shared/testing/test-foundation.ts';
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

/** Every kind of change of a messenger comes before, at and after a snapshot; most other changes are of the name. */
const changeAt = (change: number): { type: string; data: JsonObject } => {
  const identityId = 'idn_42';
  const others = [
    { type: 'MessengerUpdated', data: { userId, changes: { messengerId: '42', messengerVerified: true } } },
    { type: 'IdentityLinked', data: { userId, identityId, method: 'messenger', label: '42' } },
    { type: 'MessengerUpdated', data: { userId, changes: { messengerId: '43' } } },
    { type: 'MessengerUpdated', data: { userId, changes: { messengerId: '42' } } },
    { type: 'MessengerUpdated', data: { userId, changes: { messengerVerified: null } } },
    { type: 'IdentityUnlinked', data: { userId, identityId, method: 'messenger', claim: 1 } },
  ];
  const other = change % 19 === 18 ? others[Math.floor(change / 19) % others.length] : undefined;
  return other ?? { type: 'ProfileUpdated', data: { userId, changes: { username: `name ${String(change)}` } } };
};

describe('a user as it was', () => {
  const eventStore = new CountedEvents();
  const thread = new HistoryThread();
  const history = [
    { type: 'UserRegistered', data: { userId } },
    ...Array.from({ length: CHANGES }, (_, change) => changeAt(change)),
  ];
  let project: () => Promise<void>;
  let personalData: PersonalData;
  let snapshots: UserSnapshots;
  beforeAll(async () => {
    const foundation = { ...(await testFoundation()), eventStore };
    personalData = personalDataOf(foundation);
    snapshots = new UserSnapshots({ ...foundation, personalData, thread });
    project = () => projectStored(foundation, [userSnapshotsModel]);
    const sealed = await Promise.all(history.map((event) => personalData.seal(anEvent(event))));
    await eventStore.append('user-usr_1', -1, sealed);
  });
  afterAll(() => thread.close());

  /** The fold of all events in the clear, without any snapshot. */
  const foldedAt = (position: number) =>
    history.slice(0, position).reduce<UserDocument | undefined>((user, event, revision) => {
      const place = { time: anEvent().time, revision, position: revision + 1 };
      return evolveUser(user, event as Parameters<typeof evolveUser>[1], place);
    }, undefined);
  const isAsFolded = async (positions: readonly number[]) => {
    for (const position of positions) {
      const [then, expected] = [await snapshots.at(userId, position, budget), foldedAt(position)];
      expect([position, then && entityOf(then)]).toEqual([position, expected && entityOf(expected)]);
    }
  };
  const everyPosition = Array.from({ length: CHANGES + 2 }, (_, position) => position);

  it('is the fold of all events up to a position, before the read model has a snapshot', () =>
    isAsFolded([0, 1, 2, 63, 64, 65, 200, 351, 10_000]));

  it('is the same from snapshots, and costs few events', async () => {
    await project();
    await isAsFolded(everyPosition);
    for (const position of [60, 340, 351, 199]) {
      eventStore.eventsRead = 0;
      await snapshots.at(userId, position, budget);
      expect(eventStore.eventsRead).toBeLessThanOrEqual(3 * EVENTS_PER_SNAPSHOT);
    }
  });

  it('is read from snapshots that go with the key of the user', async () => {
    await personalData.keys.destroyKeysOf(userId);
    await expect(snapshots.at(userId, Infinity, budget)).rejects.toMatchObject({ code: 'user_erased' });
  });
});
