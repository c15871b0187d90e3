import { describe, expect, it } from '@jest/globals';
import { storedEvent } from '../../testing/event-builder.ts';
import { project } from '../../testing/project.ts';
import { EVENTS_PER_SNAPSHOT, userSnapshotsModel } from './user-snapshots.ts';

const userId = 'usr_1';
const at = (revision: number) => ({ position: 10 * revision + 1, revision });
const sealed = (text: string) => ({ enc: text, kid: 'data-usr_1' }) as unknown as string;
const renamed = (revision: number) =>
  storedEvent('ProfileUpdated', { userId, changes: { username: sealed(`name ${String(revision)}`) } }, at(revision));
const linked = (revision: number) =>
  storedEvent(
    'IdentityLinked',
    { userId, identityId: 'idn_1', method: 'messenger', label: sealed('42') },
    at(revision),
  );
const claimed = (revision: number, messengerVerified: boolean | null) =>
  storedEvent('MessengerUpdated', { userId, changes: { messengerVerified } }, at(revision));

const snapshotsOf = async (...first: ReturnType<typeof storedEvent>[]) => {
  const registered = storedEvent('UserRegistered', { userId }, at(0));
  const others = Array.from({ length: 2 * EVENTS_PER_SNAPSHOT + 5 }, (_, number) => renamed(number + 1));
  const events = [registered, ...first, ...others.slice(first.length)];
  return (await project(userSnapshotsModel, events))['snapshot'] ?? {};
};

describe('snapshots of a user', () => {
  it('are made after every 64 events, with members as they are stored', async () => {
    const snapshots = await snapshotsOf();
    expect(Object.keys(snapshots)).toEqual(['usr_1:63', 'usr_1:127']);
    expect(snapshots['usr_1:63']).toMatchObject({
      userId,
      upTo: 631,
      user: { id: userId, username: { enc: 'name 63', kid: 'data-usr_1' }, revision: 63 },
    });
    expect(snapshots['usr_1:127']).toMatchObject({ upTo: 1271, user: { revision: 127 } });
  });

  it('are not made while it cannot be told whether a sealed messenger is the linked one', async () => {
    expect(Object.keys(await snapshotsOf(linked(1), claimed(2, true)))).toHaveLength(2);
    expect(Object.keys(await snapshotsOf(claimed(1, null)))).toHaveLength(2);
    expect(await snapshotsOf(linked(1), claimed(2, null))).toEqual({});
    expect(Object.keys(await snapshotsOf(linked(1), claimed(2, null), claimed(3, false)))).toHaveLength(2);
  });
});
