import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { MemoryEventStore } from '../../../shared/testing/engines/event-store.memory.ts';
import { personalDataOf } from '../../../shared/key-vault/personal-data.ts';
import { collections } from '../../../shared/read-models/catalogue.ts';
import { usersModel } from '../../../shared/read-models/account/users.ts';
import { MemoryReadStore } from '../../../shared/testing/engines/read-store.memory.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { projectionLoop } from './projection-loop.ts';

const logger = pino({ level: 'silent' });
const personalData = personalDataOf(await testFoundation());

const registered = { type: 'UserRegistered', data: eventExamples.UserRegistered };
const stream = `user-${registered.data.userId}`;
const aSystem = async () => {
  const system = { eventStore: new MemoryEventStore(), readStore: new MemoryReadStore(), personalData, logger };
  await system.readStore.define(collections);
  const reached = (position: number) =>
    eventually(
      async () => (await system.readStore.position(usersModel.name)) === position,
      10_000,
      'the read model must reach what is stored',
    );
  return { ...system, reached, loop: projectionLoop(usersModel, system) };
};

describe('a projection loop', () => {
  it('stores nothing once it is stopped, even if documents are loaded after that', async () => {
    const { eventStore, readStore, loop } = await aSystem();
    await eventStore.append(stream, -1, [anEvent(registered)]);
    const [loading, released] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const getMany = readStore.getMany.bind(readStore);
    readStore.getMany = async (...args) => {
      loading.resolve(undefined);
      await released.promise;
      return getMany(...args);
    };
    loop.start();
    await loading.promise;
    const stopped = loop.stop();
    released.resolve(undefined);
    await stopped;
    expect(await readStore.position(usersModel.name)).toBe(0);
  });

  it('names in its checkpoint the newest event that is never forgotten, also one that it leaves out', async () => {
    const { eventStore, readStore, reached, loop } = await aSystem();
    const newest = anEvent();
    await eventStore.append('session-1', -1, [newest]);
    const { position } = await eventStore.append('challenge-1', -1, [anEvent()]);
    loop.start();
    await reached(position);
    await loop.stop();
    expect((await readStore.checkpoints()).get(usersModel.name)).toEqual({
      position,
      event: { id: newest.id, stream: 'session-1', revision: 0, position: position - 1 },
    });
  });

  it('restarts when a batch cannot be stored, even if no further event follows', async () => {
    const { eventStore, readStore, reached, loop } = await aSystem();
    const apply = readStore.apply.bind(readStore);
    let refusals = 1;
    readStore.apply = (name, changes, position) => {
      if (changes.length > 0 && refusals > 0) {
        refusals -= 1;
        return Promise.reject(new Error('the store is away'));
      }
      return apply(name, changes, position);
    };
    loop.start();
    const { position } = await eventStore.append(stream, -1, [anEvent(registered)]);
    await reached(position);
    await loop.stop();
    expect(refusals).toBe(0);
  });

  it('goes on while what an erasure replaced is still being forgotten, and tries that again when it failed', async () => {
    const { eventStore, readStore, reached, loop } = await aSystem();
    const { userId } = registered.data;
    let forgetting = 0;
    const [held, isHeld] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    readStore.forgetReplaced = () => {
      forgetting += 1;
      // The first call is that of the start.
      if (forgetting === 2) isHeld.resolve(undefined);
      return forgetting === 2 ? held.promise : Promise.resolve();
    };
    loop.start();
    const erased = await eventStore.append(stream, -1, [
      anEvent(registered),
      anEvent({ type: 'UserErased', data: { userId } }),
    ]);
    await isHeld.promise;
    const { position } = await eventStore.append('user-usr_2', -1, [
      anEvent({ type: 'UserRegistered', data: { ...registered.data, userId: 'usr_2' } }),
    ]);
    expect(position).toBeGreaterThan(erased.position);
    await reached(position);
    held.reject(new Error('the file is away'));
    await eventually(() => forgetting >= 3, 10_000, 'it must be tried again');
    await loop.stop();
  });
});
