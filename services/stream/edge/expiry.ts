import type { Clock } from '../../../shared/primitives/clock.ts';

/** Options of an `LRUCache` that forgets what is older than a time, by the clock. */
export const expiryAfter = (ttlMs: number, clock: Pick<Clock, 'elapsed'>) => ({
  ttl: ttlMs,
  ttlAutopurge: true,
  // Otherwise the cache would keep the time for a millisecond, and miss a clock that is set.
  ttlResolution: 0,
  perf: { now: () => clock.elapsed() },
});
