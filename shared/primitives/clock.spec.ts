import { expect, it } from '@jest/globals';
import { systemClock, toIso } from './clock.ts';

it('time is Unix milliseconds, and as text ISO 8601 with milliseconds', () => {
  expect(toIso(1_767_355_200_007)).toBe('2026-01-02T12:00:00.007Z');
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(60_000);
});
