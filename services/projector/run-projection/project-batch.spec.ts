import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { MemoryEventStore } from '../../../shared/testing/engines/event-store.memory.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { collections, readModels } from '../../../shared/read-models/catalogue.ts';
import { chainEventsModel } from '../../../shared/read-models/event-catcher/chain-events.ts';
import type { ReadModel } from '../../../shared/read-models/read-model.ts';
import { usersModel } from '../../../shared/read-models/account/users.ts';
import { MemoryReadStore } from '../../../shared/testing/engines/read-store.memory.ts';
import type { DocumentChange } from '../../../shared/read-store/read-store.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { projectInto } from '../../../shared/testing/project.ts';
import { projectBatch } from '../testing/project-once.ts';
import { BatchProjector } from './project-batch.ts';

type NewEvent = { type: keyof typeof eventExamples; stream: string; data: JsonObject };

const newEvent = (type: keyof typeof eventExamples, stream: string, changed: JsonObject): NewEvent => ({
  type,
  stream,
  data: { ...(eventExamples[type] as JsonObject), ...changed },
});

const contract = 'chain-2484-0x5fbdb2315678afecb367f032d93f642f64180aa3';

/**
 * An event that some read model follows, about so few users, sessions, watches and logs that events often share
 * documents.
 */
const someEvent: fc.Arbitrary<NewEvent> = fc
  .tuple(fc.constantFrom('0', '1', '2'), fc.string({ maxLength: 4 }))
  .chain(([who, name]) => {
    const [userId, sessionId, watchId] = [`user${who}`, `session${who}`, `watch${who}`];
    const log = { LogIndex: Number(who), Id: `log${who}` };
    return fc.constantFrom(
      newEvent('UserRegistered', `user-${userId}`, { userId }),
      newEvent('IdentityLinked', `user-${userId}`, { userId }),
      newEvent('UserLoggedIn', `user-${userId}`, { userId, sessionId }),
      newEvent('ProfileUpdated', `user-${userId}`, { userId, changes: { username: name } }),
      newEvent('SessionStarted', `session-${sessionId}`, { userId, sessionId }),
      newEvent('SessionRefreshed', `session-${sessionId}`, { sessionId }),
      newEvent('SessionRevoked', `session-${sessionId}`, { userId, sessionId }),
      newEvent('AppRegistered', `app-${name}`, { appId: name }),
      newEvent('ContractRegistered', `watch-${watchId}`, { watchId, appId: name }),
      newEvent('WatchExtended', `watch-${watchId}`, { watchId, startBlock: name.length }),
      newEvent('ChainEventObserved', contract, log),
      newEvent('ChainEventReverted', contract, log),
      newEvent('ChainAdvanced', 'chain-2484', { head: 7 + name.length }),
    );
  });

const someEvents = fc.array(someEvent, { minLength: 1, maxLength: 40 });

const store = async (newEvents: readonly NewEvent[]): Promise<StoredEvent[]> => {
  const events = new MemoryEventStore();
  const revisions = new Map<string, number>();
  for (const [at, { stream, type, data }] of newEvents.entries()) {
    const revision = revisions.get(stream) ?? -1;
    await events.append(stream, revision, [anEvent({ type, data, time: 1_000 * at })]);
    revisions.set(stream, revision + 1);
  }
  return (await events.readAll(0, undefined, 1_000)).events;
};

const freshReadStore = async (): Promise<MemoryReadStore> => {
  const readStore = new MemoryReadStore();
  await readStore.define(collections);
  return readStore;
};

const deliver = (model: ReadModel, readStore: Pick<MemoryReadStore, 'getMany' | 'apply'>, events: StoredEvent[]) => {
  const followed = events.filter(({ type }) => model.eventTypes.includes(type));
  return projectBatch(model, readStore, { events: followed, position: events.at(-1)?.position ?? 0 });
};

/** Repeats the attempt, also when the store fails, until it returns true. */
const retryUntilDone = async (attempt: () => Promise<boolean>): Promise<void> => {
  for (let isDone = false; !isDone;) {
    isDone = await attempt().catch((error: unknown) => {
      expect(String(error)).toContain('the store is away');
      return false;
    });
  }
};
const contents = async (readStore: MemoryReadStore) =>
  Promise.all(collections.map(async ({ name }) => [name, await readStore.find(name, { sort: [['id', 'asc']] })]));

const foldedOneByOne = async (events: StoredEvent[]) => {
  const readStore = await freshReadStore();
  await projectInto(readStore, readModels, events);
  return contents(readStore);
};

/** A read store whose every operation waits until the scheduler runs it; `observe` sees each change before that. */
const scheduledStore = (
  readStore: MemoryReadStore,
  scheduler: fc.Scheduler,
  observe: (change: DocumentChange) => void,
) => {
  const step = async <Answer>(call: () => Promise<Answer>): Promise<Answer> => {
    await scheduler.schedule(Promise.resolve());
    return call();
  };
  return {
    position: (name: string) => step(() => readStore.position(name)),
    getMany: (collection: string, ids: readonly string[]) => step(() => readStore.getMany(collection, ids)),
    apply: async (name: string, changes: readonly DocumentChange[], position: number) => {
      for (const change of changes) {
        observe(change);
        await step(() => readStore.apply(name, [change], 0));
      }
      await step(() => readStore.apply(name, [], position));
    },
  };
};

/** Projects all events after the checkpoint, in batches of the given sizes. @returns the position that it reached */
const projectFromCheckpoint = async (
  model: ReadModel,
  readStore: Pick<ReturnType<typeof scheduledStore>, 'position' | 'getMany' | 'apply'>,
  events: readonly StoredEvent[],
  batchSizes: readonly number[],
): Promise<number> => {
  const projector = new BatchProjector(model, readStore);
  let after = await readStore.position(model.name);
  for (const size of [...batchSizes, events.length - 1]) {
    const batch = events.filter(({ position }) => position > after).slice(0, 1 + (size % events.length));
    after = batch.at(-1)?.position ?? after;
    await projector.project({ events: batch.filter(({ type }) => model.eventTypes.includes(type)), position: after });
  }
  await projector.flush();
  return after;
};

/** Runs at most this many scheduled steps. */
const runSteps = async (scheduler: fc.Scheduler | undefined, steps: number): Promise<void> => {
  await setImmediate();
  for (let step = 0; step < steps && scheduler && scheduler.count() > 0; step += 1) {
    await scheduler.waitNext(1);
    await setImmediate();
  }
};

describe('projections', () => {
  it('give the same as folding each event by itself, whatever the batches and their repeats', async () => {
    await fc.assert(
      fc.asyncProperty(
        someEvents,
        fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 12 }),
        async (newEvents, deliveries) => {
          const events = await store(newEvents);
          const readStore = await freshReadStore();
          for (const model of readModels) {
            let delivered = 0;
            for (const [back, forward] of [...deliveries, [0, events.length] as const]) {
              const from = delivered - (back % (delivered + 1));
              const to = Math.min(events.length, from + 1 + (forward % events.length));
              await deliver(model, readStore, events.slice(from, to));
              delivered = Math.max(delivered, to);
            }
            await deliver(model, readStore, events);
          }
          expect(await contents(readStore)).toEqual(await foldedOneByOne(events));
        },
      ),
    );
  });

  it('give the same when each batch is folded while the previous one is stored, and when storing fails and is repeated', async () => {
    const someBatchSizes = fc.array(fc.nat(), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(
        someEvents,
        someBatchSizes,
        fc.array(fc.nat({ max: 12 })),
        async (newEvents, sizes, failures) => {
          const events = await store(newEvents);
          const readStore = await freshReadStore();
          for (const model of readModels) {
            let applied = 0;
            const failing = new Set(failures);
            const slow = {
              position: readStore.position.bind(readStore),
              getMany: readStore.getMany.bind(readStore),
              apply: async (...args: Parameters<MemoryReadStore['apply']>) => {
                await setImmediate();
                applied += 1;
                if (failing.delete(applied)) throw new Error('the store is away');
                await readStore.apply(...args);
              },
            };
            const last = events.at(-1)?.position;
            await retryUntilDone(async () => (await projectFromCheckpoint(model, slow, events, sizes)) === last);
          }
          expect(await contents(readStore)).toEqual(await foldedOneByOne(events));
        },
      ),
    );
  });

  it('give the same after crashes that leave a batch stored in part: some collections whole, one in part', async () => {
    const someCrash = fc.record({
      whole: fc.nat({ max: 2 }),
      survives: fc.array(fc.boolean(), { minLength: 1, maxLength: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(someEvents, fc.array(someCrash, { maxLength: 4 }), async (newEvents, crashes) => {
        const events = await store(newEvents);
        const readStore = await freshReadStore();
        for (const model of readModels) {
          for (const { whole, survives } of crashes) {
            const crashing = {
              getMany: readStore.getMany.bind(readStore),
              apply: (name: string, changes: readonly DocumentChange[]) => {
                const order = [...new Set(changes.map(({ collection }) => collection))];
                const survivors = changes.filter(({ collection }, at) => {
                  const index = order.indexOf(collection);
                  return index < whole || (index === whole && survives[at % survives.length]);
                });
                return readStore.apply(name, survivors, 0);
              },
            };
            await deliver(model, crashing, events);
          }
          await deliver(model, readStore, events);
        }
        expect(await contents(readStore)).toEqual(await foldedOneByOne(events));
      }),
    );
  });

  it('give the same when two processes project at once, however their steps interleave', async () => {
    const someBatchSizes = fc.array(fc.nat(), { maxLength: 4 });
    const someInterleaving = fc.array(fc.tuple(fc.nat({ max: 1 }), fc.nat({ max: 60 })), { maxLength: 8 });
    const onePause = fc.nat({ max: 12 }).map((steps) => [[0, steps] as const, [1, 1_000] as const]);
    const inputs = [
      someEvents,
      fc.tuple(someBatchSizes, someBatchSizes),
      fc.oneof(someInterleaving, onePause),
    ] as const;
    await fc.assert(
      fc.asyncProperty(
        ...inputs,
        fc.scheduler(),
        fc.scheduler(),
        async (newEvents, sizes, interleaving, ...schedulers) => {
          const events = await store(newEvents);
          const readStore = await freshReadStore();
          const stored = new Map<string, JsonObject>();
          const expectSameAtPosition = ({ collection, id, position, document }: DocumentChange) => {
            const key = `${collection}/${id} at ${String(position)}`;
            expect([key, document]).toEqual([key, stored.get(key) ?? document]);
            stored.set(key, document);
          };
          for (const model of readModels) {
            const running = new Set(schedulers);
            const run = (scheduler: fc.Scheduler, index: number) => {
              const scheduled = scheduledStore(readStore, scheduler, expectSameAtPosition);
              const projected = projectFromCheckpoint(model, scheduled, events, sizes[index] ?? []);
              return projected.finally(() => running.delete(scheduler));
            };
            const ended = Promise.allSettled(schedulers.map(run));
            for (const [index, steps] of interleaving) await runSteps(schedulers[index], steps);
            while (running.size > 0) for (const scheduler of running) await runSteps(scheduler, 1);
            for (const result of await ended) if (result.status === 'rejected') throw result.reason;
          }
          expect(await contents(readStore)).toEqual(await foldedOneByOne(events));
        },
      ),
    );
  });
});

describe('a read model that changes a document without touching it', () => {
  it('is refused with an error that names it', async () => {
    const model: ReadModel = { ...usersModel, touches: () => ({}) };
    const [event] = await store([newEvent('UserRegistered', 'user-1', {})]);
    const delivered = deliver(model, await freshReadStore(), event ? [event] : []);
    await expect(delivered).rejects.toThrow('users-v5 changes the user of UserRegistered without touching it');
  });
});

describe('a projector of consecutive batches', () => {
  it('loads only documents that are not pending, the last collection first, and stores the changed ones, the first first', async () => {
    const readStore = await freshReadStore();
    const calls: unknown[] = [];
    const observing = {
      getMany: (collection: string, ids: readonly string[]) => {
        calls.push([collection, ids.length]);
        return readStore.getMany(collection, ids);
      },
      apply: (name: string, changes: readonly DocumentChange[], position: number) => {
        calls.push([position, changes.map(({ collection, isNew }) => [collection, isNew])]);
        return readStore.apply(name, changes, position);
      },
    };
    const events = await store([
      newEvent('ChainEventObserved', contract, {}),
      newEvent('ChainEventObserved', contract, {}),
      newEvent('ChainAdvanced', 'chain-2484', {}),
      newEvent('ChainEventReverted', contract, {}),
      newEvent('ChainEventReverted', contract, {}),
      newEvent('ChainEventObserved', contract, {}),
    ]);
    const projector = new BatchProjector(chainEventsModel, observing);
    for (const [from, to] of [
      [0, 3],
      [3, 4],
      [4, 5],
      [5, 6],
    ] as const) {
      await projector.project({ events: events.slice(from, to), position: to });
    }
    await projector.flush();
    const [record, count] = ['chain-events-v5', 'chain-event-counts-v5'];
    const loaded = [
      [count, 1],
      [record, 1],
    ];
    const stored = (position: number, isNew: boolean) => [
      position,
      [
        [record, isNew],
        [count, isNew],
      ],
    ];
    // Pending documents are not loaded again. A second reversal changes nothing, so no document is pending after it.
    expect(calls).toEqual([...loaded, stored(3, true), stored(4, false), [5, []], ...loaded, stored(6, false)]);
  });
});
