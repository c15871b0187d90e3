import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Refusal } from '../../errors/refusal.ts';
import { anEvent, someMetadata } from '../../testing/event-builder.ts';
import { systemClock } from '../../primitives/clock.ts';
import { systemIds } from '../../primitives/ids.ts';
import { MemoryEventStore } from '../../testing/engines/event-store.memory.ts';
import { OutcomeUnknown, WrongExpectedRevision, type EventStore } from '../event-store.ts';
import { TestClock } from '../../testing/test-foundation.ts';
import { appendConfirmed, OutcomeStillUnknown, toAppend, Transactor, type Transaction } from './transact.ts';

const CALLERS = 300;

const counter = { initial: 0, evolve: (count: number) => count + 1 };

/** Starts a command that appends, and so conflicts with any other that read the same revision. */
const countUp = (transactor: Transactor, wrong?: Error) =>
  transactor.transact({
    stream: 'request-counted',
    fold: counter,
    metadata: someMetadata,
    decide: (count) => {
      if (wrong) throw wrong;
      return [{ type: 'RequestReceived', data: { fingerprint: String(count) } }];
    },
  });

describe('transactions on one stream', () => {
  it('all succeed, however many run at once', async () => {
    const transactor = new Transactor(new MemoryEventStore(), systemClock, systemIds);
    const done = await Promise.all(Array.from({ length: CALLERS }, () => countUp(transactor)));
    expect(done.map(({ state }) => state)).toEqual(Array.from({ length: CALLERS }, (_, index) => index + 1));
  });

  it('continue after one was refused', async () => {
    const transactor = new Transactor(new MemoryEventStore(), systemClock, systemIds);
    const refused = countUp(transactor, new Error('refused'));
    const next = countUp(transactor);
    await expect(refused).rejects.toThrow('refused');
    expect(await next).toMatchObject({ state: 1, appended: true });
  });
});

describe('transactions after others have read or written', () => {
  const twoProcesses = () => {
    const store = new MemoryEventStore();
    return {
      store,
      processes: [0, 1].map(() => new Transactor(store, systemClock, systemIds)) as [Transactor, Transactor],
    };
  };

  it('see what another process appended, also when they append nothing', async () => {
    const { processes } = twoProcesses();
    for (let count = 1; count <= 20; count += 1) {
      expect(await countUp(processes[count % 2 === 0 ? 0 : 1])).toMatchObject({ state: count, before: count - 1 });
    }
    const unchanged = { stream: 'request-counted', fold: counter, metadata: someMetadata, decide: () => [] };
    for (const process of processes)
      expect(await process.transact(unchanged)).toMatchObject({ state: 20, position: 20 });
  });

  it('read two events of a stream however long it is', async () => {
    const { store, processes } = twoProcesses();
    let events = 0;
    const read = store.read.bind(store);
    store.read = async (...args) => {
      const found = await read(...args);
      events += found.length;
      return found;
    };
    for (let count = 0; count < 500; count += 1) await countUp(processes[0]);
    events = 0;
    await countUp(processes[0]);
    expect(events).toBe(2);
  });

  it('see an append whose outcome was unknown to the end, once it is stored', async () => {
    const { store, processes } = twoProcesses();
    const append = jest.spyOn(store, 'append').mockRejectedValue(new OutcomeStillUnknown('request-counted', undefined));
    await expect(countUp(processes[0])).rejects.toBeInstanceOf(OutcomeStillUnknown);
    const late = append.mock.lastCall;
    append.mockRestore();
    if (late) await store.append(...late);
    expect(await countUp(processes[0])).toMatchObject({ before: 1, state: 2 });
  });
});

describe('transactions on a stream that is kept for a time', () => {
  const keep = { seconds: 60 };
  const useOnce = (
    transactor: Transactor,
    by: string,
    keeping: Pick<Transaction<string[], never>, 'keep'> = { keep },
  ) =>
    transactor.transact({
      stream: 'request-used',
      fold: {
        initial: [] as string[],
        evolve: (users: string[], { data }: { type: string; data: { fingerprint: string } }) => [
          ...users,
          data.fingerprint,
        ],
      },
      metadata: someMetadata,
      ...keeping,
      decide: (users) => (users.length === 0 ? [{ type: 'RequestReceived', data: { fingerprint: by } }] : []),
    });

  it('are decided anew once it is forgotten, by each process', async () => {
    const clock = new TestClock();
    const store = new MemoryEventStore(clock);
    const [first, second] = [new Transactor(store, clock, systemIds), new Transactor(store, clock, systemIds)];
    await useOnce(first, 'a');
    expect(await useOnce(second, 'b')).toMatchObject({ appended: false, state: ['a'] });
    clock.time += 60_000;
    expect(await useOnce(first, 'c')).toMatchObject({ appended: true, before: [], state: ['c'] });
    clock.time += 60_000;
    expect(await useOnce(second, 'd')).toMatchObject({ appended: true, before: [], state: ['d'] });
    expect(await useOnce(first, 'e')).toMatchObject({ appended: false, state: ['d'] });
  });

  /** A store whose append conflicts with an event that it shows only after the next append, as a cluster may. */
  const hiding = () => {
    const store = new MemoryEventStore();
    let isHidden = true;
    const [read, append] = [store.read.bind(store), store.append.bind(store)];
    store.read = async (stream, options) => (isHidden ? [] : read(stream, options));
    store.append = async (...args) => {
      const appended = await append(...args);
      isHidden = false;
      return appended;
    };
    const other = new Transactor(new MemoryEventStore(), systemClock, systemIds);
    const event = toAppend({ type: 'RequestReceived', data: { fingerprint: 'first' } }, someMetadata, other);
    return {
      transactor: new Transactor(store, systemClock, systemIds),
      first: () => append('request-used', -1, [event]),
    };
  };

  it('are decided again when what seemed forgotten was being stored', async () => {
    const { transactor, first } = hiding();
    await first();
    const { appended, state } = await useOnce(transactor, 'second');
    expect(appended).toBe(false);
    expect(state[0]).toBe('first');
  });

  it('alone trust that what they cannot see is forgotten', async () => {
    const { transactor, first } = hiding();
    await first();
    await expect(useOnce(transactor, 'second', {})).rejects.toBeInstanceOf(WrongExpectedRevision);
  });
});

/** A store that appends, but reports success only after that many attempts. Before, it throws these errors in turn. */
const silent = (
  attempts: number,
  errors: Error[] = [new OutcomeUnknown('lost')],
): { store: EventStore; asked: () => number } => {
  const store = new MemoryEventStore();
  const append = store.append.bind(store);
  let asked = 0;
  store.append = async (...args) => {
    const error = errors[asked % errors.length];
    asked += 1;
    const appended = await append(...args);
    if (asked <= attempts) throw error ?? new OutcomeUnknown('lost');
    return appended;
  };
  return { store, asked: () => asked };
};

describe('an append whose outcome is unknown', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is confirmed by appending the same events again, with growing pauses', async () => {
    const { store, asked } = silent(9);
    const confirmed = appendConfirmed(store, 'test-confirmed', -1, [anEvent(), anEvent()]);
    await jest.advanceTimersByTimeAsync(50);
    expect(asked()).toBeLessThan(5);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(await confirmed).toEqual({ revision: 1, position: 2 });
    expect(await store.read('test-confirmed')).toHaveLength(2);
  });

  it('is given up after 15 s, and the caller is told to retry', async () => {
    const { store, asked } = silent(Infinity);
    const outcome = appendConfirmed(store, 'test-silent', -1, [anEvent()]).catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(13_000);
    const askedBefore = asked();
    await jest.advanceTimersByTimeAsync(2_100);
    expect(await outcome).toBeInstanceOf(OutcomeStillUnknown);
    expect(await outcome).toMatchObject({ code: 'dependency_unavailable', retryAfter: 1 });
    expect(asked()).toBeGreaterThan(askedBefore);
    expect(asked()).toBeLessThan(50);
  });

  it('is not confirmed after the signal aborted, and no append begins then', async () => {
    const { store, asked } = silent(Infinity);
    const stop = new AbortController();
    const outcome = appendConfirmed(store, 'test-stopped', -1, [anEvent()], stop.signal).catch(
      (error: unknown) => error,
    );
    await jest.advanceTimersByTimeAsync(100);
    const askedBefore = asked();
    stop.abort(new Error('its lease is lost'));
    await jest.advanceTimersByTimeAsync(2_000);
    expect(await outcome).toBeInstanceOf(OutcomeStillUnknown);
    await expect(appendConfirmed(store, 'test-stopped', -1, [anEvent()], stop.signal)).rejects.toThrow('lease is lost');
    expect(asked()).toBe(askedBefore);
  });

  it('stays unknown while later attempts write nothing', async () => {
    const unavailable = new Refusal('dependency_unavailable', 'down');
    const { store } = silent(3, [new OutcomeUnknown('lost'), unavailable, unavailable]);
    const confirmed = appendConfirmed(store, 'test-down', -1, [anEvent()]);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(await confirmed).toMatchObject({ revision: 0 });
  });

  it('stays unknown when the store refuses to confirm it', async () => {
    const { store } = silent(2, [
      new OutcomeUnknown('lost'),
      new Refusal('shutting_down', 'the event store is closed'),
    ]);
    const outcome = appendConfirmed(store, 'test-closed', -1, [anEvent()]).catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(100);
    expect(await outcome).toBeInstanceOf(OutcomeStillUnknown);
  });

  it('is not confirmed when it is known', async () => {
    for (const known of [new Refusal('dependency_unavailable', 'down'), new WrongExpectedRevision('test', -1, 0)]) {
      const { store, asked } = silent(1, [known]);
      await expect(appendConfirmed(store, 'test-known', -1, [anEvent()])).rejects.toBe(known);
      expect(asked()).toBe(1);
    }
  });
});
