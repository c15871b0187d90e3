import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RequestRate } from './request-rate.ts';

/** Sends sequential requests to an endpoint with a limit per second. Returns how many it refused. */
const ask = (rate: RequestRate, times: number, aSecond: number, startMs = 0): { refused: number; endMs: number } => {
  let nowMs = startMs;
  let refused = 0;
  const answeredAt: number[] = [];
  for (let left = times; left > 0; left -= 1) {
    nowMs += rate.take(nowMs) + 1;
    if ((answeredAt.at(-aSecond) ?? -Infinity) > nowMs - 1_000) {
      rate.refused(nowMs - 1, nowMs);
      refused += 1;
    } else {
      answeredAt.push(nowMs);
      rate.answered(nowMs);
    }
  }
  return { refused, endMs: nowMs };
};

describe('the rate of requests', () => {
  it('has no bound until something is refused', () => {
    const rate = new RequestRate();
    for (let at = 0; at < 100; at += 1) expect(rate.take(5)).toBe(0);
    rate.answered(5);
    expect(rate.waitMs(5)).toBe(0);
  });

  it('waits as long as the endpoint says, but for a bound, else a second', () => {
    const rate = new RequestRate();
    rate.refused(0, 100, 3_000);
    expect(rate.waitMs(100)).toBe(3_000);
    rate.refused(3_100, 3_150, 600_000);
    expect(rate.waitMs(3_150)).toBe(5_000);
    const other = new RequestRate();
    other.refused(0, 100);
    expect(other.waitMs(100)).toBe(1_000);
    expect(other.waitMs(1_100)).toBe(0);
  });

  it('has requests follow each other at a distance that each refusal doubles after an answer', () => {
    const rate = new RequestRate();
    rate.refused(0, 0, 0);
    expect([rate.take(0), rate.take(0), rate.take(0)]).toEqual([0, 20, 40]);
    rate.answered(60);
    rate.refused(60, 60, 0);
    expect([rate.take(60), rate.take(60)]).toEqual([0, 40]);
    for (let at = 1_000; at < 20_000; at += 1_000) {
      rate.answered(at);
      rate.refused(at, at, 0);
    }
    const from = 20_000 + rate.take(20_000);
    expect(rate.waitMs(from)).toBe(1_000);
  });

  it('pauses for longer where nothing but refusals comes, whatever they say, and is as fast as before after an answer', () => {
    for (const namedMs of [undefined, 0]) {
      const rate = new RequestRate();
      let nowMs = 0;
      const pauses = Array.from({ length: 6 }, () => {
        rate.refused(nowMs, nowMs, namedMs);
        const waitMs = rate.take(nowMs);
        nowMs += waitMs;
        return waitMs;
      });
      expect(pauses).toEqual([...(namedMs === 0 ? [0] : []), 1_000, 2_000, 4_000, 5_000, 5_000, 5_000].slice(0, 6));
      rate.answered(nowMs);
      expect(rate.waitMs(nowMs)).toBeLessThanOrEqual(20);
    }
  });

  it('has no bound again within five seconds of calm, however often it was refused before', () => {
    const rate = new RequestRate();
    for (let at = 0; at < 60_000; at += 1_000) {
      rate.answered(at);
      rate.refused(at, at, 0);
    }
    let nowMs = 60_000;
    while (nowMs < 65_000) {
      nowMs += rate.take(nowMs) + 1;
      rate.answered(nowMs);
    }
    expect([rate.take(nowMs), rate.take(nowMs)]).toEqual([0, 0]);
  });

  it('slows down once for what was under way together', () => {
    const rate = new RequestRate();
    rate.refused(10, 100, 0);
    rate.refused(20, 110, 0);
    rate.refused(99, 190, 0);
    rate.take(200);
    expect(rate.waitMs(200)).toBe(20);
  });

  it('has no bound again once nothing is refused any more', () => {
    const rate = new RequestRate();
    rate.refused(0, 0, 0);
    const { endMs } = ask(rate, 500, 10_000);
    expect(rate.take(endMs + 1_000)).toBe(0);
    expect(rate.take(endMs + 1_000)).toBe(0);
  });

  it('comes near what an endpoint takes, with few refusals', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), (aSecond) => {
        const rate = new RequestRate();
        const warm = ask(rate, 500, aSecond);
        const { refused, endMs } = ask(rate, 2_000, aSecond, warm.endMs + 1_000);
        expect(refused).toBeLessThan(Math.max(200, (endMs - warm.endMs) / 3_000));
        const answered = ((2_000 - refused) / (endMs - warm.endMs)) * 1_000;
        expect(answered).toBeGreaterThan(aSecond * 0.3);
      }),
      { numRuns: 20 },
    );
  });
});
