import { describe, expect, it } from '@jest/globals';
import { inSimulatedTime } from '../testing/simulation/simulated-globals.ts';
import { QueryBudget } from './query-budget.ts';

describe('the budget of a query', () => {
  it('gives the next call to an engine what is left of its time, at most 4 s', () =>
    inSimulatedTime(async (time) => {
      const [limited, unlimited] = [
        new QueryBudget({ caller: 'a', withinMs: 5_500 }),
        new QueryBudget({ caller: 'b' }),
      ];
      expect([limited.leftMs, unlimited.leftMs]).toEqual([4_000, 4_000]);
      await time.pause(4_000);
      expect([limited.leftMs, unlimited.leftMs]).toEqual([1_500, 4_000]);
    }));

  it('ends with its time', () =>
    inSimulatedTime(async (time) => {
      const budget = new QueryBudget({ caller: 'a', withinMs: 1_000 });
      await time.pause(999);
      budget.check();
      expect(budget.signal.aborted).toBe(false);
      await time.pause(1);
      expect(() => budget.check()).toThrow('the query searches too many records');
      expect(budget.signal.aborted).toBe(true);
    }));
});
