import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type UserEvent, userStream } from '../../../../schemas/events/account/user-events.ts';
import { SqliteEventStore } from '../../../../shared/event-store/embedded/event-store.sqlite.ts';
import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { testFoundation } from '../../../../shared/testing/test-foundation.ts';
import { updateProfile, userFold } from '../../../account/users/domain/user.ts';
import { latencyOf, type Latency, type Report } from '../measure.ts';

const SHORT = 10;
const LONG = 100_000;
const EVENTS_PER_APPEND = 1_000;
const COMMANDS = 2_000;
/** The longest that a profile event can be. */
const AVATAR = `https://${'x'.repeat(2_000)}/`;
const metadata = { correlationId: 'bench', actor: { type: 'system', id: 'bench' } } as const;

/** Measures commands on short and long streams, and how long they block other work. */
export const benchTransact = async (folder: string, report: Report): Promise<void> => {
  const file = join(folder, 'events.db');
  const [store, other] = [new SqliteEventStore(file), new SqliteEventStore(file)];
  const { keyVault, masterKey } = await testFoundation();
  const aProcess = (eventStore: EventStore) =>
    new Transactor(
      eventStore,
      systemClock,
      systemIds,
      personalDataOf({ keyVault, masterKey, clock: systemClock, eventStore }),
    );
  const transactor = aProcess(store);
  const [short, long] = [await aUser(store, SHORT), await aUser(store, LONG)];
  const first = await held('a stream of 100,000 is first read', () => change(transactor, long, 0));
  await change(transactor, short, 0);
  for (const [events, userId] of [
    [SHORT, short],
    [LONG, long],
  ] as const) {
    const tookMs: number[] = [];
    for (let at = 1; at <= COMMANDS; at += 1) {
      const from = performance.now();
      await change(transactor, userId, at);
      tookMs.push(performance.now() - from);
    }
    report(latencyOf(`a command after ${events.toLocaleString('en')} events`, tookMs));
  }
  const processes = [transactor, aProcess(other)];
  const alternately = async () => {
    for (let at = 1; at <= COMMANDS; at += 1) await change(processes[at % 2] ?? transactor, long, COMMANDS + at);
  };
  const alternating = await held('two processes change it alternately', alternately);
  const nothing = await held('nothing is done', () => pause(1_000));
  for (const latency of [...first, ...alternating, ...nothing]) report(latency);
  await Promise.all([store.close(), other.close()]);
};

const change = (transactor: Transactor, userId: string, at: number) =>
  transactor.transact({
    stream: userStream(userId),
    fold: userFold,
    metadata,
    decide: (user) => updateProfile(user, userId, { username: String(at) }),
  });

const aUser = async (store: EventStore, events: number): Promise<string> => {
  const userId = randomUUID();
  const avatars = Array.from({ length: events - 1 }, (_, at): UserEvent => {
    return { type: 'ProfileUpdated', data: { userId, changes: { avatar: `${AVATAR}${String(at)}` } } };
  });
  const all = [{ type: 'UserRegistered', data: { userId } } satisfies UserEvent, ...avatars].map((event) => ({
    ...event,
    id: randomUUID(),
    schemaVersion: 1,
    time: systemClock.now(),
    metadata,
  }));
  for (let from = 0; from < events; from += EVENTS_PER_APPEND) {
    await store.append(userStream(userId), from - 1, all.slice(from, from + EVENTS_PER_APPEND));
  }
  return userId;
};

/**
 * Measures how long other work waits during `work`: the lateness of timers and, independent of other processes of the
 * machine, the processor time of each tick of the event loop.
 */
const held = async (what: string, work: () => Promise<unknown>): Promise<Latency[]> => {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  const ticksMs: number[] = [];
  let before = process.threadCpuUsage();
  let isDone = false;
  const tick = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    ticksMs.push((user + system) / 1_000);
    before = process.threadCpuUsage();
    if (!isDone) setImmediate(tick);
  };
  delays.enable();
  setImmediate(tick);
  try {
    await work();
  } finally {
    isDone = true;
    delays.disable();
  }
  const inMs = (nanoseconds: number) => Math.round(nanoseconds / 100_000) / 10;
  const late = { p50Ms: inMs(delays.percentile(50)), p99Ms: inMs(delays.percentile(99)), maxMs: inMs(delays.max) };
  return [
    { what: `${what}: timers late`, ...late, count: delays.count },
    latencyOf(`${what}: a tick's processor time`, ticksMs),
  ];
};
