import { describe, expect, it } from '@jest/globals';
import { someMetadata } from '../testing/event-builder.ts';
import { systemClock } from '../primitives/clock.ts';
import { systemIds } from '../primitives/ids.ts';
import { MemoryEventStore } from './event-store.memory.ts';
import { Transactor } from './transact.ts';

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
