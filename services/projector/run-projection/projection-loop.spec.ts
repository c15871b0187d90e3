import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { MemoryEventStore } from '../../../shared/event-store/event-store.memory.ts';
import { personalDataOf } from '../../../shared/key-vault/personal-data.ts';
import { collections } from '../../../shared/read-models/catalogue.ts';
import { usersModel } from '../../../shared/read-models/users.ts';
import { MemoryReadStore } from '../../../shared/read-store/read-store.memory.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { projectionLoop } from './projection-loop.ts';

const logger = pino({ level: 'silent' });
const personalData = personalDataOf(await testFoundation());

describe('a projection loop', () => {
  it('stores nothing once it is stopped, even if documents are loaded after that', async () => {
    const eventStore = new MemoryEventStore();
    const data = eventExamples.UserRegistered;
    await eventStore.append(`user-${data.userId}`, -1, [anEvent({ type: 'UserRegistered', data })]);
    const readStore = new MemoryReadStore();
    await readStore.define(collections);
    const [loading, released] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const getMany = readStore.getMany.bind(readStore);
    readStore.getMany = async (...args) => {
      loading.resolve(undefined);
      await released.promise;
      return getMany(...args);
    };
    const loop = projectionLoop(usersModel, { eventStore, readStore, personalData, logger });
    loop.start();
    await loading.promise;
    const stopped = loop.stop();
    released.resolve(undefined);
    await stopped;
    expect(await readStore.position(usersModel.name)).toBe(0);
  });

  it('names in its checkpoint the newest event that is never forgotten, also one that it leaves out', async () => {
    const eventStore = new MemoryEventStore();
    const readStore = new MemoryReadStore();
    await readStore.define(collections);
    const newest = anEvent();
    await eventStore.append('session-1', -1, [newest]);
    const { position } = await eventStore.append('challenge-1', -1, [anEvent()]);
    const loop = projectionLoop(usersModel, { eventStore, readStore, personalData, logger });
    loop.start();
    const hasReachedTheHead = async () => (await readStore.position(usersModel.name)) === position;
    await eventually(hasReachedTheHead, 10_000, 'the read model must reach the head');
    await loop.stop();
    expect((await readStore.checkpoints()).get(usersModel.name)).toEqual({
      position,
      event: { id: newest.id, stream: 'session-1', revision: 0, position: position - 1 },
    });
  });

  it('restarts when a batch cannot be stored, even if no further event follows', async () => {
    const eventStore = new MemoryEventStore();
    const data = eventExamples.UserRegistered;
    const readStore = new MemoryReadStore();
    await readStore.define(collections);
    const apply = readStore.apply.bind(readStore);
    let refusals = 1;
    readStore.apply = (name, changes, position) => {
      if (changes.length > 0 && refusals > 0) {
        refusals -= 1;
        return Promise.reject(new Error('the store is away'));
      }
      return apply(name, changes, position);
    };
    const loop = projectionLoop(usersModel, { eventStore, readStore, personalData, logger });
    loop.start();
    const { position } = await eventStore.append(`user-${data.userId}`, -1, [
      anEvent({ type: 'UserRegistered', data }),
    ]);
    const hasReachedTheHead = async () => (await readStore.position(usersModel.name)) === position;
    await eventually(hasReachedTheHead, 10_000, 'the read model must reach the head');
    await loop.stop();
    expect(refusals).toBe(0);
  });

  it('goes on while what an erasure replaced is still being forgotten, and tries that again when it failed', async () => {
    const eventStore = new MemoryEventStore();
    const data = eventExamples.UserRegistered;
    const { userId } = data;
    const readStore = new MemoryReadStore();
    await readStore.define(collections);
    let forgetting = 0;
    const [held, isHeld] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    readStore.forgetReplaced = () => {
      forgetting += 1;
      // The first is that of the start.
      if (forgetting === 2) isHeld.resolve(undefined);
      return forgetting === 2 ? held.promise : Promise.resolve();
    };
    const hasReached = (position: number) =>
      eventually(
        async () => (await readStore.position(usersModel.name)) === position,
        10_000,
        'the read model must reach what is stored',
      );
    const loop = projectionLoop(usersModel, { eventStore, readStore, personalData, logger });
    loop.start();
    const erased = await eventStore.append(`user-${userId}`, -1, [
      anEvent({ type: 'UserRegistered', data }),
      anEvent({ type: 'UserErased', data: { userId } }),
    ]);
    await isHeld.promise;
    const { position } = await eventStore.append('user-usr_2', -1, [
      anEvent({ type: 'UserRegistered', data: { ...data, userId: 'usr_2' } }),
    ]);
    expect(position).toBeGreaterThan(erased.position);
    await hasReached(position);
    held.reject(new Error('the file is away'));
    await eventually(() => forgetting >= 3, 10_000, 'it must be tried again');
    await loop.stop();
  });
});
