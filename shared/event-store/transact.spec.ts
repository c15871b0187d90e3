import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Refusal } from '../errors/refusal.ts';
import { anEvent, someMetadata } from '../testing/event-builder.ts';
import { systemClock } from '../primitives/clock.ts';
import { systemIds } from '../primitives/ids.ts';
import { MemoryEventStore } from './event-store.memory.ts';
import { OutcomeUnknown, WrongExpectedRevision, type EventStore } from './event-store.ts';
import { appendConfirmed, Transactor, OutcomeStillUnknown } from './transact.ts';

const CALLERS = 300;

/** Commands that each append, and so each conflict with any other that read the same. */
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
  it('all succeed, however many come at once', async () => {
    const transactor = new Transactor(new MemoryEventStore(), systemClock, systemIds);
    const done = await Promise.all(Array.from({ length: CALLERS }, () => countUp(transactor)));
    expect(done.map(({ state }) => state)).toEqual(Array.from({ length: CALLERS }, (_, index) => index + 1));
  });

  it('go on behind one that was refused', async () => {
    const transactor = new Transactor(new MemoryEventStore(), systemClock, systemIds);
    const refused = countUp(transactor, new Error('refused'));
    const next = countUp(transactor);
    await expect(refused).rejects.toThrow('refused');
    expect(await next).toMatchObject({ state: 1, appended: true });
  });
});

/** Appends, and says what it did only after so many attempts; before that it throws these errors by turns. */
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

  it('is settled by the same events again, with growing pauses', async () => {
    const { store, asked } = silent(9);
    const settled = appendConfirmed(store, 'test-settled', -1, [anEvent(), anEvent()]);
    await jest.advanceTimersByTimeAsync(50);
    expect(asked()).toBeLessThan(5);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(await settled).toEqual({ revision: 1, position: 2 });
    expect(await store.read('test-settled')).toHaveLength(2);
  });

  it('is given up after 15 s, and the caller is told to come again', async () => {
    const { store, asked } = silent(Infinity);
    const settled = appendConfirmed(store, 'test-silent', -1, [anEvent()]).catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(13_000);
    const askedBefore = asked();
    await jest.advanceTimersByTimeAsync(2_100);
    expect(await settled).toBeInstanceOf(OutcomeStillUnknown);
    expect(await settled).toMatchObject({ code: 'dependency_unavailable', retryAfter: 1 });
    expect(asked()).toBeGreaterThan(askedBefore);
    expect(asked()).toBeLessThan(50);
  });

  it('is not asked about after the signal aborted, and nothing begins then', async () => {
    const { store, asked } = silent(Infinity);
    const stop = new AbortController();
    const settled = appendConfirmed(store, 'test-stopped', -1, [anEvent()], stop.signal).catch(
      (error: unknown) => error,
    );
    await jest.advanceTimersByTimeAsync(100);
    const askedBefore = asked();
    stop.abort(new Error('its lease is lost'));
    await jest.advanceTimersByTimeAsync(2_000);
    expect(await settled).toBeInstanceOf(OutcomeStillUnknown);
    await expect(appendConfirmed(store, 'test-stopped', -1, [anEvent()], stop.signal)).rejects.toThrow('lease is lost');
    expect(asked()).toBe(askedBefore);
  });

  it('stays unknown while later attempts write nothing', async () => {
    const unavailable = new Refusal('dependency_unavailable', 'down');
    const { store } = silent(3, [new OutcomeUnknown('lost'), unavailable, unavailable]);
    const settled = appendConfirmed(store, 'test-down', -1, [anEvent()]);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(await settled).toMatchObject({ revision: 0 });
  });

  it('stays unknown when it cannot be asked about', async () => {
    const { store } = silent(2, [
      new OutcomeUnknown('lost'),
      new Refusal('shutting_down', 'the event store is closed'),
    ]);
    const settled = appendConfirmed(store, 'test-closed', -1, [anEvent()]).catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(100);
    expect(await settled).toBeInstanceOf(OutcomeStillUnknown);
  });

  it('is not asked about when it is known', async () => {
    for (const known of [new Refusal('dependency_unavailable', 'down'), new WrongExpectedRevision('test', -1, 0)]) {
      const { store, asked } = silent(1, [known]);
      await expect(appendConfirmed(store, 'test-known', -1, [anEvent()])).rejects.toBe(known);
      expect(asked()).toBe(1);
    }
  });
});
