import { describe, expect, it } from '@jest/globals';
import { unavailable } from '../../errors/refusal.ts';
import { OutcomeUnknown, type EventStore } from '../../event-store/event-store.ts';
import { MemoryEventStore } from '../../testing/engines/event-store.memory.ts';
import { anEvent } from '../../testing/event-builder.ts';
import { eventually } from '../../testing/eventually.ts';
import { inSimulatedTime } from '../../testing/simulation/simulated-globals.ts';
import { testFoundation } from '../../testing/test-foundation.ts';
import { Health } from '../health/health.ts';
import { WatchedEventStore } from './watched-event-store.ts';

/** A store whose appends fail as long as it is told to. */
const startFailing = async (error: Error) => {
  const foundation = await testFoundation();
  const store = new MemoryEventStore();
  const append = store.append.bind(store);
  const isFull = { now: true };
  store.append = (...args) => (isFull.now ? Promise.reject(error) : append(...args));
  const watched = new WatchedEventStore(store, foundation);
  const health = new Health({ ...foundation, eventStore: watched }, {});
  return { store, watched, isFull, health, logged: foundation.logged };
};
const add = (store: EventStore, expected = -1) => store.append('thing-1', expected, [anEvent()]);

describe('an event store that cannot be written to', () => {
  it.each([
    ['stores nothing', unavailable('disk full', undefined)],
    ['does not tell what became of an append', new OutcomeUnknown('no answer')],
  ])('is down when it %s, until a write of its own succeeds', (_, error) =>
    inSimulatedTime(async () => {
      const { store, watched, isFull, health, logged } = await startFailing(error);
      expect(await health.report()).toMatchObject({ isReady: true });
      await expect(add(watched)).rejects.toBe(error);
      await expect(add(watched)).rejects.toBe(error);
      expect(await health.report()).toMatchObject({ isReady: false, dependencies: { eventStore: 'down' } });
      isFull.now = false;
      await eventually(async () => (await health.report()).isReady, 3_000, 'a write of its own must succeed');
      const { events } = await store.readAll(0, undefined, 10);
      expect(events).toMatchObject([
        { type: 'RequestReceived', metadata: { actor: { type: 'system', id: 'health' } } },
      ]);
      expect(logged.map(({ msg }) => msg)).toEqual([
        'the event store cannot be written to; it is tried each second',
        'the event store can be written to again',
      ]);
      await watched.close();
    }),
  );

  it('is up again as soon as anything is stored', async () => {
    const { watched, isFull, health } = await startFailing(unavailable('disk full', undefined));
    await expect(add(watched)).rejects.toThrow('disk full');
    isFull.now = false;
    await add(watched);
    expect(watched.writesFail).toBe(false);
    expect(await health.report()).toMatchObject({ isReady: true });
    await watched.close();
  });

  it('is not one that refuses a revision', async () => {
    const { watched, isFull } = await startFailing(unavailable('disk full', undefined));
    isFull.now = false;
    await expect(add(watched, 7)).rejects.toThrow('is at revision');
    expect(watched.writesFail).toBe(false);
    await watched.close();
  });
});
