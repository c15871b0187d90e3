import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { collections } from '../../../schemas/read-models/catalogue.ts';
import { MemoryEventStore } from '../../../shared/event-store/event-store.memory.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { MemoryReadStore } from '../../../shared/read-store/read-store.memory.ts';
import type { DocumentChange } from '../../../shared/read-store/read-store.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { projections } from '../projections.ts';
import { BatchProjector, projectBatch } from './project-batch.ts';
import type { Projection } from './projection.ts';

type Happening = { type: keyof typeof eventExamples; stream: string; data: JsonObject };

const happening = (type: keyof typeof eventExamples, stream: string, changed: JsonObject): Happening => ({
  type,
  stream,
  data: { ...(eventExamples[type] as JsonObject), ...changed },
});

/** Some event that some read model follows, of few enough users, sessions, watches and logs that they meet often. */
const someHappening: fc.Arbitrary<Happening> = fc
  .record({
    who: fc.integer({ min: 0, max: 2 }),
    what: fc.integer({ min: 0, max: 10 }),
    name: fc.string({ maxLength: 4 }),
  })
  .map(({ who, what, name }) => {
    const userId = `user${String(who)}`;
    const sessionId = `session${String(who)}`;
    const watchId = `watch${String(who)}`;
    const log = { LogIndex: who, Id: `log${String(who)}` };
    const contract = 'chain-2484-0x5fbdb2315678afecb367f032d93f642f64180aa3';
    const all: readonly Happening[] = [
      happening('UserRegistered', `user-${userId}`, { userId }),
      happening('IdentityLinked', `user-${userId}`, { userId }),
      happening('UserLoggedIn', `user-${userId}`, { userId, sessionId }),
      happening('ProfileUpdated', `user-${userId}`, { userId, changes: { username: name } }),
      happening('SessionStarted', `session-${sessionId}`, { userId, sessionId }),
      happening('SessionRevoked', `session-${sessionId}`, { userId, sessionId }),
      happening('AppRegistered', `app-${name}`, { appId: name }),
      happening('ContractRegistered', `watch-${watchId}`, { watchId, appId: name }),
      happening('WatchExtended', `watch-${watchId}`, { watchId, startBlock: name.length }),
      happening('ChainEventObserved', contract, log),
      happening('ChainEventReverted', contract, log),
    ];
    return all[what] ?? happening('ChainAdvanced', 'chain-2484', { head: 7 + name.length });
  });

const someLog = fc.array(someHappening, { minLength: 1, maxLength: 40 });

const store = async (happenings: readonly Happening[]): Promise<StoredEvent[]> => {
  const events = new MemoryEventStore();
  const revisions = new Map<string, number>();
  for (const [at, { stream, type, data }] of happenings.entries()) {
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

const deliver = (
  projection: Projection,
  readStore: Pick<MemoryReadStore, 'getMany' | 'apply'>,
  events: StoredEvent[],
) => {
  const types: readonly string[] = projection.eventTypes;
  const followed = events.filter(({ type }) => types.includes(type));
  return projectBatch(projection, readStore, { events: followed, position: events.at(-1)?.position ?? 0 });
};

/** Again and again, whatever it fails with, until it says that it is done. */
const until = async (attempt: () => Promise<boolean>): Promise<void> => {
  for (let isDone = false; !isDone;) {
    isDone = await attempt().catch((error: unknown) => {
      expect(String(error)).toContain('the store is away');
      return false;
    });
  }
};
const contents = async (readStore: MemoryReadStore) =>
  Promise.all(collections.map(async ({ name }) => [name, await readStore.find(name, { sort: [['id', 'asc']] })]));

const cleanFold = async (events: StoredEvent[]) => {
  const readStore = await freshReadStore();
  for (const projection of projections) await deliver(projection, readStore, events);
  return contents(readStore);
};

/** A store of which every single step waits until the scheduler lets it go on. */
const pausable = (readStore: MemoryReadStore, scheduler: fc.Scheduler, store: (change: DocumentChange) => void) => {
  const step = async <Answer>(call: () => Promise<Answer>): Promise<Answer> => {
    await scheduler.schedule(Promise.resolve());
    return call();
  };
  return {
    position: (name: string) => step(() => readStore.position(name)),
    getMany: (collection: string, ids: readonly string[]) => step(() => readStore.getMany(collection, ids)),
    apply: async (name: string, changes: readonly DocumentChange[], position: number) => {
      for (const change of changes) {
        store(change);
        await step(() => readStore.apply(name, [change], 0));
      }
      await step(() => readStore.apply(name, [], position));
    },
  };
};

/** Works from the checkpoint to the end, in batches as they are cut. */
const workThrough = async (
  projection: Projection,
  readStore: ReturnType<typeof pausable>,
  events: readonly StoredEvent[],
  cuts: readonly number[],
): Promise<void> => {
  const projector = new BatchProjector(projection, readStore);
  const types: readonly string[] = projection.eventTypes;
  let after = await readStore.position(projection.name);
  for (const cut of [...cuts, events.length - 1]) {
    const batch = events.filter(({ position }) => position > after).slice(0, 1 + (cut % events.length));
    after = batch.at(-1)?.position ?? after;
    await projector.project({ events: batch.filter(({ type }) => types.includes(type)), position: after });
  }
  await projector.settled();
};

/** Lets so many steps go on, if so many come. */
const letGo = async (scheduler: fc.Scheduler | undefined, steps: number): Promise<void> => {
  await nextTurn();
  for (let step = 0; step < steps && scheduler && scheduler.count() > 0; step += 1) {
    await scheduler.waitNext(1);
    await nextTurn();
  }
};

describe('projections', () => {
  it('give the clean fold, whatever is delivered again and however it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        someLog,
        fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 12 }),
        async (happenings, deliveries) => {
          const events = await store(happenings);
          const readStore = await freshReadStore();
          for (const projection of projections) {
            let delivered = 0;
            for (const [back, forward] of [...deliveries, [0, events.length] as const]) {
              const from = delivered - (back % (delivered + 1));
              const to = Math.min(events.length, from + 1 + (forward % events.length));
              await deliver(projection, readStore, events.slice(from, to));
              delivered = Math.max(delivered, to);
            }
            await deliver(projection, readStore, events);
          }
          expect(await contents(readStore)).toEqual(await cleanFold(events));
        },
      ),
    );
  });

  it('give the clean fold when each batch is folded while the one before it is stored, and a store that fails begins again', async () => {
    const someCuts = fc.array(fc.nat(), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(someLog, someCuts, fc.array(fc.nat({ max: 12 })), async (happenings, cuts, failures) => {
        const events = await store(happenings);
        const readStore = await freshReadStore();
        for (const projection of projections) {
          let applied = 0;
          const failing = new Set(failures);
          const slow = {
            getMany: readStore.getMany.bind(readStore),
            apply: async (...args: Parameters<MemoryReadStore['apply']>) => {
              await nextTurn();
              applied += 1;
              if (failing.delete(applied)) throw new Error('the store is away');
              await readStore.apply(...args);
            },
          };
          await until(async () => {
            const projector = new BatchProjector(projection, slow);
            const types: readonly string[] = projection.eventTypes;
            let after = await readStore.position(projection.name);
            for (const cut of [...cuts, events.length]) {
              const batch = events.filter(({ position }) => position > after).slice(0, 1 + (cut % events.length));
              after = batch.at(-1)?.position ?? after;
              await projector.project({ events: batch.filter(({ type }) => types.includes(type)), position: after });
            }
            await projector.settled();
            return after === events.at(-1)?.position;
          });
        }
        expect(await contents(readStore)).toEqual(await cleanFold(events));
      }),
    );
  });

  it('give the clean fold after a crash in the middle of storing a batch: some collections whole, one in part', async () => {
    const someCrash = fc.record({
      whole: fc.nat({ max: 2 }),
      survives: fc.array(fc.boolean(), { minLength: 1, maxLength: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(someLog, fc.array(someCrash, { maxLength: 4 }), async (happenings, crashes) => {
        const events = await store(happenings);
        const readStore = await freshReadStore();
        for (const projection of projections) {
          for (const { whole, survives } of crashes) {
            const crashing = {
              getMany: readStore.getMany.bind(readStore),
              apply: (name: string, changes: readonly DocumentChange[]) => {
                const order = [...new Set(changes.map(({ collection }) => collection))];
                const survivors = changes.filter(({ collection }, at) => {
                  const place = order.indexOf(collection);
                  return place < whole || (place === whole && survives[at % survives.length]);
                });
                return readStore.apply(name, survivors, 0);
              },
            };
            await deliver(projection, crashing, events);
          }
          await deliver(projection, readStore, events);
        }
        expect(await contents(readStore)).toEqual(await cleanFold(events));
      }),
    );
  });

  it('give the clean fold when two work at once, however long either is paused: what they store at one position is the same', async () => {
    const someCuts = fc.array(fc.nat(), { maxLength: 4 });
    const someTurns = fc.array(fc.tuple(fc.nat({ max: 1 }), fc.nat({ max: 60 })), { maxLength: 8 });
    const onePause = fc.nat({ max: 12 }).map((steps) => [[0, steps] as const, [1, 1_000] as const]);
    const someWork = [someLog, fc.tuple(someCuts, someCuts), fc.oneof(someTurns, onePause)] as const;
    await fc.assert(
      fc.asyncProperty(...someWork, fc.scheduler(), fc.scheduler(), async (happenings, cuts, turns, ...schedulers) => {
        const events = await store(happenings);
        const readStore = await freshReadStore();
        const stored = new Map<string, JsonObject>();
        const isTheSame = ({ collection, id, position, document }: DocumentChange) => {
          const key = `${collection}/${id} at ${String(position)}`;
          expect([key, document]).toEqual([key, stored.get(key) ?? document]);
          stored.set(key, document);
        };
        for (const projection of projections) {
          const working = new Set(schedulers);
          const work = (scheduler: fc.Scheduler, at: number) => {
            const its = pausable(readStore, scheduler, isTheSame);
            return workThrough(projection, its, events, cuts[at] ?? []).finally(() => working.delete(scheduler));
          };
          const ended = Promise.allSettled(schedulers.map(work));
          for (const [who, steps] of turns) await letGo(schedulers[who], steps);
          while (working.size > 0) for (const scheduler of working) await letGo(scheduler, 1);
          for (const end of await ended) if (end.status === 'rejected') throw end.reason;
        }
        expect(await contents(readStore)).toEqual(await cleanFold(events));
      }),
    );
  });
});
