import { describe, expect, it } from '@jest/globals';
import { CatchUpTracker } from './catch-up-tracker.ts';

/** A reader of a head of numbers, and how far it has come. */
const follower = () => {
  const tracker = new CatchUpTracker<number>();
  return {
    headWas: (head: number, askedAtMs: number) => {
      tracker.headWas(head, askedAtMs);
    },
    isCaughtUp: (reached: number, nowMs: number) => tracker.isCaughtUp((head) => reached >= head, nowMs),
  };
};

describe('who follows a head', () => {
  it('is not caught up before the head is known and reached', () => {
    const { headWas, isCaughtUp } = follower();
    expect(isCaughtUp(100, 0)).toBe(false);
    headWas(7, 0);
    expect(isCaughtUp(6, 1)).toBe(false);
    expect(isCaughtUp(7, 2)).toBe(true);
  });

  it('stays caught up while a newer head is less than 10 s old', () => {
    const { headWas, isCaughtUp } = follower();
    headWas(7, 0);
    expect(isCaughtUp(7, 1)).toBe(true);
    headWas(9, 5_000);
    expect(isCaughtUp(8, 14_999)).toBe(true);
    expect(isCaughtUp(8, 15_000)).toBe(false);
  });

  it('that was too late is caught up again with the next head it reaches', () => {
    const { headWas, isCaughtUp } = follower();
    headWas(7, 0);
    expect(isCaughtUp(6, 10_000)).toBe(false);
    headWas(8, 10_000);
    expect(isCaughtUp(7, 10_001)).toBe(false);
    expect(isCaughtUp(8, 10_002)).toBe(true);
  });

  it('is decided by the newest head of which that is known', () => {
    const { headWas, isCaughtUp } = follower();
    headWas(7, 0);
    headWas(9, 1_000);
    headWas(20, 9_000);
    expect(isCaughtUp(9, 11_000)).toBe(true);
    expect(isCaughtUp(9, 18_999)).toBe(true);
    expect(isCaughtUp(9, 19_000)).toBe(false);
  });

  it('is not caught up when nobody has asked for the head for 10 s', () => {
    const { headWas, isCaughtUp } = follower();
    headWas(7, 0);
    expect(isCaughtUp(7, 9_999)).toBe(true);
    expect(isCaughtUp(7, 10_000)).toBe(false);
    headWas(7, 10_000);
    expect(isCaughtUp(7, 10_001)).toBe(true);
  });
});
