import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Refusal } from '../errors/refusal.ts';
import { anEvent, someMetadata } from '../testing/event-builder.ts';
import { systemClock } from '../primitives/clock.ts';
import { systemIds } from '../primitives/ids.ts';
import { MemoryEventStore } from './event-store.memory.ts';
import { OutcomeUnknown, WrongExpectedRevision, type EventStore } from './event-store.ts';
import { appendConfirmed, Transactor, OutcomeStillUnknown } from './transact.ts';

const CALLERS = 300;

/** Starts a command that appends, and so conflicts with any other that read the same revision. */
const countUp = (transactor: Transactor, wrong?: Error) =>
  transactor.transact({
    stream: 'request-counted',
    fold: { initial: 0, evolve: (count: number) => count + 1 },
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
