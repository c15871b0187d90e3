import { beforeEach, describe, expect, it } from '@jest/globals';
import { FairQueue, firstOf } from './fair-queue.ts';

const RETRY = { firstMs: 1_000, maxMs: 300_000 };

describe('a fair queue', () => {
  let elapsedMs: number;
  let queue: FairQueue;
  const isDue = (key: string) => queue.waitMs(key) <= 0;
  beforeEach(() => {
    elapsedMs = 1_000_000;
    queue = new FairQueue({ elapsed: () => elapsedMs }, RETRY);
  });

  it('serves the key first that was served longest ago, and of several the first', () => {
    const byQueue = (left: string, right: string) => queue.compare(left, right);
    const served = Array.from({ length: 5 }, () => {
      const first = firstOf(['b', 'c', 'a'], byQueue);
      if (first !== undefined) queue.begin([first]);
      return first;
    });
    expect(served).toEqual(['b', 'c', 'a', 'b', 'c']);
    expect(firstOf([], byQueue)).toBeUndefined();
  });

  it('lets a key wait after a failure, longer each time up to five minutes, until it succeeds', () => {
    const waits = () => {
      const since = elapsedMs;
      while (!isDue('a')) elapsedMs += 100;
      return elapsedMs - since;
    };
    queue.failed(['a'], false);
    expect(isDue('a')).toBe(false);
    expect(isDue('b')).toBe(true);
    expect(waits()).toBeLessThanOrEqual(1_000);
    for (let times = 0; times < 12; times += 1) queue.failed(['a'], false);
    const longest = waits();
    expect([longest >= 150_000, longest <= 300_000]).toEqual([true, true]);
    queue.succeeded(['a']);
    queue.failed(['a'], false);
    expect(waits()).toBeLessThanOrEqual(1_000);
  });

  it('counts the failures in a row', () => {
    queue.failed(['a'], false);
    queue.failed(['a'], true);
    expect(queue.failures('a')).toBe(2);
    queue.succeeded(['a']);
    expect(queue.failures('a')).toBe(0);
  });

  it('postpones a key that did not fail', () => {
    queue.postpone('a', 500);
    expect([queue.waitMs('a'), queue.failures('a')]).toEqual([500, 0]);
    elapsedMs += 500;
    expect(isDue('a')).toBe(true);
  });

  it('splits keys that failed together in two halves, until they succeed', () => {
    queue.failed(['a', 'b', 'c'], true);
    expect([queue.isSamePart('a', 'b'), queue.isSamePart('b', 'c')]).toEqual([true, false]);
    queue.succeeded(['a', 'b', 'c']);
    expect(queue.isSamePart('b', 'c')).toBe(true);
    queue.failed(['a', 'b', 'c'], false);
    expect(queue.isSamePart('b', 'c')).toBe(true);
  });

  it('forgets all but the keys that still wait', () => {
    queue.failed(['a', 'b'], false);
    queue.keep(new Set(['a']));
    expect([isDue('a'), isDue('b')]).toEqual([false, true]);
    queue.forget('a');
    expect(isDue('a')).toBe(true);
  });
});
