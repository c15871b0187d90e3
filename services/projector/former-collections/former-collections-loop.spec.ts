import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { usersModel } from '../../../shared/read-models/account/users.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { formerCollectionsLoop } from './former-collections-loop.ts';

const users = usersModel.collections.user.name;
const erasure = (userId: string) => anEvent({ type: 'UserErased', data: { ...eventExamples.UserErased, userId } });

describe('former collections', () => {
  it('are named at the start, and lose what is of a person that is erased or was before', async () => {
    const { eventStore, readStore, logger, logged } = await testFoundation();
    await readStore.define([{ name: 'sessions-v2', indexes: [] }]);
    const session = (id: string, userId: string) => ({
      ...{ collection: 'sessions-v2', id, position: 1, document: { userId, device: `Browser of ${userId}` } },
    });
    const user = { collection: users, id: '0x1', position: 1, document: { id: '0x1' } };
    const sessions = [session('a', '0x1'), session('b', '0x2'), session('c', '0x3')];
    const first = erasure('0x1');
    const { position } = await eventStore.append('user-0x1', -1, [first]);
    const event = { id: first.id, stream: 'user-0x1', revision: 0, position };
    await readStore.apply('sessions-v2', [...sessions, user], 1, event);

    const { checkpoint, loop, measured } = formerCollectionsLoop({ eventStore, readStore, logger });
    loop.start();
    const reaches = (goal: number) => async () => (await readStore.position(checkpoint)) >= goal;
    await eventually(reaches(position), 10_000, 'the loop must reach the head');
    const left = async () => (await readStore.find('sessions-v2', {})).map(({ id }) => id);
    expect(await left()).toEqual(['b', 'c']);

    const second = await eventStore.append('user-0x2', -1, [erasure('0x2')]);
    await eventually(reaches(second.position), 10_000, 'the loop must reach the head');
    await loop.stop();
    expect(await left()).toEqual(['c']);
    expect(await readStore.count(users, {})).toBe(1);
    expect(await measured.read()).toEqual([{ labels: { collection: 'sessions-v2' }, value: 3 }]);
    expect(logged.filter(({ level }) => level === 40)).toMatchObject([
      { collections: [{ name: 'sessions-v2', documents: 3, filledTo: new Date(first.time).toISOString() }] },
    ]);
  });
});
