import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { UserEvent } from '../../../../schemas/events/account/user-events.ts';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { SqliteEventStore } from '../../../../shared/event-store/embedded/event-store.sqlite.ts';
import type { EventStore, EventToAppend } from '../../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import { collections } from '../../../../shared/read-models/catalogue.ts';
import { chainEventsModel } from '../../../../shared/read-models/event-catcher/chain-events.ts';
import type { ReadModel } from '../../../../shared/read-models/read-model.ts';
import { usersModel } from '../../../../shared/read-models/account/users.ts';
import { SqliteReadStore } from '../../../../shared/read-store/embedded/read-store.sqlite.ts';
import { projectBatch } from '../../../projector/testing/project-once.ts';
import { measure, type Report } from '../measure.ts';

const COMMANDS = 100_000;
const CALLERS = 256;
const BULK_EVENTS = 300_000;
const EVENTS_PER_APPEND = 1_000;
const metadata = { correlationId: 'bench', actor: { type: 'system', id: 'bench' } } as const;

/** Measures one-event commands, bulk appends, replay and projection on the SQLite stores. */
export const benchEmbeddedStore = async (folder: string, report: Report): Promise<void> => {
  const store = new SqliteEventStore(join(folder, 'events.db'));
  const readStore = new SqliteReadStore(join(folder, 'read.db'));
  await readStore.define(collections);
  report(await measure('commands through transact, 256 callers', COMMANDS, () => runCommands(store)));
  const appends = someChainEvents();
  report(
    await measure('bulk append, 1,000 events an append', BULK_EVENTS, async () => {
      for (const [index, events] of appends.entries()) {
        await store.append('chain-2484-0xbench', index * EVENTS_PER_APPEND - 1, events);
      }
    }),
  );
  report(await measure('replay, data parsed', COMMANDS + BULK_EVENTS, () => replay(store)));
  report(await measure('projection of users', COMMANDS, () => project(usersModel, store, readStore)));
  report(await measure('projection of chain events', BULK_EVENTS, () => project(chainEventsModel, store, readStore)));
  await Promise.all([store.close(), readStore.close()]);
};

const runCommands = async (store: EventStore): Promise<void> => {
  const transactor = new Transactor(store, systemClock, systemIds);
  let started = 0;
  const caller = async () => {
    while (started < COMMANDS) {
      started += 1;
      const userId = randomUUID();
      await transactor.transact<number, UserEvent>({
        stream: `user-${userId}`,
        fold: { initial: 0, evolve: (events) => events + 1 },
        metadata,
        decide: () => [{ type: 'UserRegistered', data: { userId } }],
      });
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
};

const someChainEvents = (): EventToAppend[][] =>
  Array.from({ length: BULK_EVENTS / EVENTS_PER_APPEND }, (_, block) =>
    Array.from({ length: EVENTS_PER_APPEND }, (__, log) => ({
      id: randomUUID(),
      type: 'ChainEventObserved',
      schemaVersion: 1,
      time: systemClock.now(),
      metadata,
      data: { ...eventExamples.ChainEventObserved, BlockNumber: block, LogIndex: log },
    })),
  );

const replay = async (store: EventStore): Promise<void> => {
  let parsed = 0;
  for await (const { events, caughtUp } of store.subscribeAll(0, undefined, new AbortController().signal)) {
    for (const { data } of events) if (typeof data === 'object') parsed += 1;
    if (caughtUp) break;
  }
  if (parsed !== COMMANDS + BULK_EVENTS) throw new Error(`replayed ${String(parsed)} events`);
};

const project = async (model: ReadModel, store: EventStore, readStore: SqliteReadStore): Promise<void> => {
  const filter = { types: model.eventTypes };
  for await (const batch of store.subscribeAll(0, filter, new AbortController().signal)) {
    await projectBatch(model, readStore, batch);
    if (batch.caughtUp) break;
  }
};
