import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { inSimulatedTime } from '../testing/simulation/simulated-globals.ts';
import { QueryBudget } from './query-budget.ts';
import { QuerySlots } from './query-slots.ts';

const budgetOf = (caller: string, signal?: AbortSignal) => new QueryBudget({ caller, ...(signal && { signal }) });

/** A call that runs until it is ended. */
const openCall = () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  return {
    run: () => promise,
    end: () => {
      resolve('answer');
    },
  };
};

describe('slots of queries', () => {
  it('run so many calls at a time', async () => {
    const slots = new QuerySlots(2);
    const calls = [openCall(), openCall(), openCall()];
    const begun: number[] = [];
    const answers = calls.map((call, at) =>
      slots.run(budgetOf('someone'), () => {
        begun.push(at);
        return call.run();
      }),
    );
    await setImmediate();
    expect(begun).toEqual([0, 1]);
    calls[1]?.end();
    await answers[1];
    await setImmediate();
    expect(begun).toEqual([0, 1, 2]);
    for (const call of calls) call.end();
    expect(await Promise.all(answers)).toEqual(['answer', 'answer', 'answer']);
  });

  it('let that caller go on who has used least, and of one caller that query', () =>
    inSimulatedTime(async (time) => {
      const slots = new QuerySlots(1);
      const [long, short] = [budgetOf('busy'), budgetOf('busy')];
      await slots.run(long, () => time.pause(120));
      await slots.run(short, () => time.pause(40));
      await slots.run(budgetOf('calm'), () => time.pause(1));
      const first = openCall();
      const order: string[] = [];
      const asked = (name: string, budget: QueryBudget) =>
        slots.run(budget, () => {
          order.push(name);
          return Promise.resolve();
        });
      const running = slots.run(budgetOf('first'), first.run);
      const waiting = [
        asked('long', long),
        asked('short', short),
        asked('calm', budgetOf('calm')),
        asked('new', budgetOf('new')),
        asked('new again', budgetOf('new')),
      ];
      first.end();
      await Promise.all([running, ...waiting]);
      expect(order).toEqual(['new', 'new again', 'calm', 'short', 'long']);
    }));

  it('let the one go first that was told to, whatever its caller has used', () =>
    inSimulatedTime(async (time) => {
      const slots = new QuerySlots(1);
      const [begun, other] = [budgetOf('busy'), budgetOf('busy')];
      await slots.run(begun, () => time.pause(20));
      begun.goesFirst = true;
      const first = openCall();
      const order: string[] = [];
      const running = slots.run(budgetOf('first'), first.run);
      const waiting = Object.entries({ other, calm: budgetOf('calm'), begun }).map(([name, budget]) =>
        slots.run(budget, () => {
          order.push(name);
          return Promise.resolve();
        }),
      );
      first.end();
      await Promise.all([running, ...waiting]);
      expect(order).toEqual(['begun', 'calm', 'other']);
    }));

  it('forget in time what a caller has used', () =>
    inSimulatedTime(async (time) => {
      const slots = new QuerySlots(1);
      await slots.run(budgetOf('formerly'), () => time.pause(20));
      await time.pause(20_000);
      await slots.run(budgetOf('lately'), () => time.pause(5));
      const first = openCall();
      const order: string[] = [];
      const running = slots.run(budgetOf('first'), first.run);
      const waiting = ['lately', 'formerly'].map((caller) =>
        slots.run(budgetOf(caller), () => {
          order.push(caller);
          return Promise.resolve();
        }),
      );
      first.end();
      await Promise.all([running, ...waiting]);
      expect(order).toEqual(['formerly', 'lately']);
    }));

  it('refuse a query whose time is over while it waits, and then others go on', async () => {
    const slots = new QuerySlots(1);
    const first = openCall();
    const running = slots.run(budgetOf('first'), first.run);
    const hasty = new QueryBudget({ caller: 'hasty', withinMs: 5 });
    await expect(slots.run(hasty, () => Promise.reject(new Error('it has no turn')))).rejects.toMatchObject({
      code: 'dependency_unavailable',
      retryAfter: 1,
    });
    first.end();
    await running;
    expect(await slots.run(budgetOf('next'), () => Promise.resolve('answer'))).toBe('answer');
  });

  it('do not wait for a call that nobody waits for, but keep its lane until it ends', async () => {
    const slots = new QuerySlots(1);
    const leaving = new AbortController();
    const first = openCall();
    const left = slots.run(budgetOf('first', leaving.signal), first.run);
    const next = slots.run(budgetOf('next'), () => Promise.resolve('next'));
    leaving.abort(new Error('the caller went away'));
    await expect(left).rejects.toThrow('the caller went away');
    expect(await Promise.race([next, setImmediate('waits')])).toBe('waits');
    first.end();
    expect(await next).toBe('next');
  });

  it('go on after a call that fails', async () => {
    const slots = new QuerySlots(1);
    const failing = slots.run(budgetOf('one'), () => Promise.reject(new Error('the engine is away')));
    await expect(failing).rejects.toThrow('the engine is away');
    expect(await slots.run(budgetOf('one'), () => Promise.resolve('answer'))).toBe('answer');
  });
});
