import { beforeEach, describe, expect, it } from '@jest/globals';
import { VerificationQueue } from './verification-queue.ts';

const EVERY_MS = 15_000;
const one = (key: string, next = 0) => ({ key, next });

describe('what waits to be verified', () => {
  let elapsedMs: number;
  let queue: VerificationQueue;
  beforeEach(() => {
    elapsedMs = 1_000_000;
    queue = new VerificationQueue({ elapsed: () => elapsedMs }, EVERY_MS);
  });

  it('is served in the order in which each was served last, and of the blocks', () => {
    const all = [one('a', 9), one('b', 3), one('c', 5)];
    const served: (string | undefined)[] = [];
    for (let time = 0; time < 5; time += 1) {
      const first = queue.first(all);
      served.push(first?.key);
      if (first) queue.begin([first.key]);
    }
    expect(served).toEqual(['b', 'c', 'a', 'b', 'c']);
    expect(queue.first<ReturnType<typeof one>>([])).toBeUndefined();
  });

  it('waits after a failure, longer each time up to five minutes, and no more once it has succeeded', () => {
    const waits = () => {
      const since = elapsedMs;
      while (!queue.isDue('a')) elapsedMs += 100;
      return elapsedMs - since;
    };
    queue.failed(['a'], false);
    expect(queue.isDue('a')).toBe(false);
    expect(queue.isDue('b')).toBe(true);
    expect(waits()).toBeLessThanOrEqual(1_000);
    for (let times = 0; times < 12; times += 1) queue.failed(['a'], false);
    const longest = waits();
    expect([longest >= 150_000, longest <= 300_000]).toEqual([true, true]);
    queue.succeeded(['a']);
    queue.failed(['a'], false);
    expect(waits()).toBeLessThanOrEqual(1_000);
  });

  it('stands still once it has failed three times in a row', () => {
    const failed = Array.from({ length: 3 }, () => {
      queue.failed(['a'], false);
      return queue.standsStill('a');
    });
    expect(failed).toEqual([false, false, true]);
    queue.succeeded(['a']);
    queue.failed(['a'], false);
    expect(queue.standsStill('a')).toBe(false);
  });

  it('is parted in two when it fails together, until it succeeds', () => {
    queue.failed(['a', 'b', 'c'], true);
    expect([queue.isPartOf('a', 'b'), queue.isPartOf('b', 'c')]).toEqual([true, false]);
    queue.succeeded(['a', 'b', 'c']);
    expect(queue.isPartOf('b', 'c')).toBe(true);
    queue.failed(['a', 'b', 'c'], false);
    expect(queue.isPartOf('b', 'c')).toBe(true);
  });

  it('is compared in fewer blocks once some are refused, down to one, whatever others do, and in more once it has succeeded', () => {
    const most = (key: string) => queue.blocksMost(key);
    expect(most('a')).toBeGreaterThan(1_000_000);
    queue.refused(['a', 'b'], 10);
    queue.succeeded(['c']);
    expect([most('a'), most('b')]).toEqual([5, 5]);
    queue.refused(['a'], 5);
    queue.refused(['a'], 2);
    expect(most('a')).toBe(1);
    queue.refused(['a'], 1);
    queue.failed(['a'], false);
    expect(most('a')).toBe(1);
    queue.succeeded(['a', 'b']);
    expect([most('a'), most('b')]).toEqual([2, 10]);
  });

  it('forgets what waits no more', () => {
    queue.failed(['a', 'b'], false);
    queue.keep(new Set(['a']));
    expect([queue.isDue('a'), queue.isDue('b')]).toEqual([false, true]);
  });
});
