import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LearnedLimit } from './learned-limit.ts';

const MAX = 100_000;

/** Sends this many requests, each as large as the limit allows. Returns how many were refused. */
const ask = (limit: LearnedLimit, times: number, cap: number, says?: { isExact: boolean }): number => {
  let refused = 0;
  for (let left = times; left > 0; left -= 1) {
    const asked = limit.value;
    if (asked <= cap) limit.answered(asked);
    else {
      refused += 1;
      if (says) limit.refused(asked, cap, says.isExact);
      else limit.refused(asked);
    }
  }
  return refused;
};
const caps = fc.integer({ min: 1, max: 200_000 });

describe('a limit that is learned', () => {
  it('is what the refusal says, from the next request on', () => {
    fc.assert(
      fc.property(caps, fc.boolean(), (cap, isExact) => {
        const limit = new LearnedLimit(MAX);
        expect(ask(limit, 2, cap, { isExact })).toBe(cap < MAX ? 1 : 0);
        expect(limit.value).toBe(Math.min(cap, MAX));
      }),
    );
  });

  it('is found by halving where the refusal says nothing, and then comes close', () => {
    fc.assert(
      fc.property(caps, (cap) => {
        const limit = new LearnedLimit(MAX);
        const refusals = ask(limit, 20, cap);
        expect(refusals).toBeLessThanOrEqual(18);
        expect(limit.value).toBeLessThanOrEqual(Math.max(2 * cap, 1));
        ask(limit, 80, cap);
        const reached = limit.value <= cap ? limit.value : cap;
        expect(reached).toBeGreaterThanOrEqual(Math.floor(Math.min(cap, MAX) * 0.85));
      }),
    );
  });

  it('costs few refusals in the long run', () => {
    fc.assert(
      fc.property(caps, fc.boolean(), (cap, says) => {
        const limit = new LearnedLimit(MAX);
        ask(limit, 100, cap);
        expect(ask(limit, 1_000, cap, says ? { isExact: true } : undefined)).toBeLessThanOrEqual(50);
      }),
    );
  });

  it('rises again after it was raised, and falls at once after it was lowered', () => {
    fc.assert(
      fc.property(caps, caps, (first, second) => {
        const limit = new LearnedLimit(MAX);
        ask(limit, 50, first, { isExact: true });
        ask(limit, 20 + 110 * 2 + 80, second);
        const reached = Math.min(limit.value, second);
        expect(reached).toBeGreaterThanOrEqual(Math.floor(Math.min(second, MAX) * 0.85));
      }),
    );
  });

  it('is between 1 and its maximum, and less than what was refused, whatever is answered and refused', () => {
    const step = fc.record({
      asked: fc.integer({ min: 1, max: 1_000_000 }),
      next: fc.option(fc.integer({ min: -5, max: 1_000_000 }), { nil: undefined }),
      isExact: fc.boolean(),
      isAnswer: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const limit = new LearnedLimit(MAX);
        for (const { asked, next, isExact, isAnswer } of steps) {
          if (isAnswer) limit.answered(asked);
          else {
            limit.refused(asked, next, isExact);
            expect(limit.value).toBeLessThan(Math.max(2, asked));
          }
          expect(limit.value).toBeGreaterThanOrEqual(1);
          expect(limit.value).toBeLessThanOrEqual(MAX);
        }
      }),
    );
  });

  it('is lowered once by what was refused at the same time', () => {
    const limit = new LearnedLimit(MAX);
    for (let request = 0; request < 8; request += 1) limit.refused(MAX);
    expect(limit.value).toBe(MAX / 2);
  });
});
