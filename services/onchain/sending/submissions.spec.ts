import { expect, it } from '@jest/globals';
import { signedUntil } from './submissions.ts';

const at = (seconds: number) => ({ now: () => seconds * 1_000 + 999 });

it.each([
  ['the time of our clock', 1_000, 900, null, 1_600],
  ['the time of the head, if that is later', 1_000, 1_100, null, 1_700],
  ['now, and expires after the signature that it replaces', 1_000, 900, '1970-01-01T00:20:00.000Z', 1_600],
  [
    'now, and expires with the signature that it replaces, if the clock was set back',
    1_000,
    900,
    '1970-01-01T01:00:00.000Z',
    3_600,
  ],
])('a signature of the paymaster counts from %s', (_, now, timestamp, atLeast, until) => {
  expect(signedUntil(at(now), { timestamp }, 600, atLeast)).toBe(until);
});
