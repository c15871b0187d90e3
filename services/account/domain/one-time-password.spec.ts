import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { OtpEvent } from '../../../schemas/events/otp-events.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import { expectNothingTheSecondTime, given, refusalBy } from '../../../shared/testing/given.ts';
import { readAddress, writeAddress } from './email-address.ts';
import {
  guessOneTimePassword,
  isGuessedUp,
  issueOneTimePassword,
  oneTimePasswordFold,
  oneTimePasswordStream,
  requestsLeft,
  verifyOneTimePassword,
  type OneTimePasswords,
  type RequestLimit,
} from './one-time-password.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const MINUTE = 60_000;
const DAY = 86_400_000;
const perMinute: RequestLimit = { name: 'otpRequest', points: 1, seconds: 60 };
const perDay: RequestLimit = { name: 'otpRequestDay', points: 10, seconds: 86_400 };
const limits = [perMinute, perDay];

type Timed = [OtpEvent, number];
const issued = (
  otpId: string,
  at = NOON,
  changes: Partial<{ appId: string; capitals: number[]; isKnown: boolean }> = {},
): Timed => {
  const password = { otpId, appId: 'app_1', passwordHash: `hash of ${otpId}`, capitals: [], isKnown: false };
  return [{ type: 'OtpIssued', data: { ...password, ...changes, expiresAt: toIso(at + 5 * MINUTE) } }, at];
};
const guessed = (otpId: string, at = NOON): Timed => [{ type: 'OtpGuessed', data: { otpId } }, at];
const verified = (otpId: string, at = NOON): Timed => [
  { type: 'OtpVerified', data: { otpId, sessionId: 'ses_1' } },
  at,
];
const locked = (at = NOON): Timed => [{ type: 'OtpLocked', data: { until: toIso(at + DAY) } }, at];
const times = (count: number, one: (at: number) => Timed): Timed[] => Array.from({ length: count }, (_, at) => one(at));

const issue = (nowMs: number, otpId = 'new', changes: { appId?: string; capitals?: number[] } = {}) => {
  const request = { otpId, appId: 'app_1', passwordHash: `hash of ${otpId}`, capitals: [], limits, ...changes };
  return (state: OneTimePasswords) => issueOneTimePassword(state, nowMs, request);
};
const guess =
  (nowMs = NOON, appId = 'app_1') =>
  (state: OneTimePasswords) =>
    guessOneTimePassword(state, nowMs, { appId });
const verify =
  (otpId: string, sessionId = 'ses_1') =>
  (state: OneTimePasswords) =>
    verifyOneTimePassword(state, { otpId, sessionId });
const of = (...history: Timed[]) => given(oneTimePasswordFold, history);

describe('issuing a one-time password', () => {
  it('closes the one of the same app, and no other', () => {
    const { state } = of(issued('a'), issued('b', NOON, { appId: 'app_2' }), issued('c', NOON + 1));
    expect(state.passwords.map(({ otpId }) => otpId)).toEqual(['b', 'c']);
  });

  it('forgets those that have expired', () => {
    const { state } = of(issued('a'), issued('b', NOON + 5 * MINUTE, { appId: 'app_2' }));
    expect(state.passwords.map(({ otpId }) => otpId)).toEqual(['b']);
  });

  it('is valid for five minutes, and done once', () => {
    of()
      .when(issue(NOON))
      .then([issued('new')[0]]);
    expectNothingTheSecondTime(oneTimePasswordFold, of().state, issue(NOON), NOON);
  });

  it('is allowed once a minute, whatever the app', () => {
    of(issued('a'))
      .when(issue(NOON + MINUTE - 1, 'new', { appId: 'app_2' }))
      .refused('rate_limited', /1 .* per 60 s/);
    of(issued('a'))
      .when(issue(NOON + MINUTE))
      .then([issued('new', NOON + MINUTE)[0]]);
  });

  it('is allowed ten times a day', () => {
    const ten = times(10, (at) => issued(String(at), NOON + at * MINUTE));
    of(...ten)
      .when(issue(NOON + DAY - 1))
      .refused('rate_limited', /10 .* per 86400 s/);
    of(...ten)
      .when(issue(NOON + DAY))
      .then([issued('new', NOON + DAY)[0]]);
  });

  it('tells how many more there may be, and when', () => {
    const { state } = of(...times(9, (at) => issued(String(at), NOON + at * MINUTE)));
    expect(requestsLeft(state, NOON + 9 * MINUTE, perDay)).toEqual({ left: 1, waitMs: 0 });
    const full = of(...times(10, (at) => issued(String(at), NOON + at * MINUTE)));
    expect(requestsLeft(full.state, NOON + 9 * MINUTE, perDay)).toEqual({ left: 0, waitMs: DAY - 9 * MINUTE });
    expect(requestsLeft(of().state, NOON, perMinute)).toEqual({ left: 1, waitMs: 0 });
  });

  it('says to the second when it is allowed again', () => {
    const { state } = of(issued('a'));
    expect(refusalBy(() => issue(NOON)(state)).retryAfter).toBe(60);
    expect(refusalBy(() => issue(NOON + 1)(state)).retryAfter).toBe(60);
    expect(refusalBy(() => issue(NOON + MINUTE - 1)(state)).retryAfter).toBe(1);
  });

  it('counts a hundred at most, so that the state has a bound', () => {
    const many = times(150, (at) => issued(String(at), NOON + at));
    const { state } = of(...many);
    expect(state.issuedAt).toHaveLength(100);
    expect(requestsLeft(state, NOON + 150, { points: 1_000, seconds: 86_400 }).left).toBe(0);
  });

  it('is sent to the address whose password was verified first, not to the one of whoever asks', () => {
    of(issued('a', NOON, { capitals: [0] }))
      .when(issue(NOON + MINUTE, 'new', { capitals: [1] }))
      .then([issued('new', NOON + MINUTE, { capitals: [1] })[0]]);
    of(issued('a', NOON, { capitals: [0] }), guessed('a'), verified('a'))
      .when(issue(NOON + MINUTE, 'new', { capitals: [1] }))
      .then([issued('new', NOON + MINUTE, { capitals: [0], isKnown: true })[0]]);
  });

  it('is sent to the address of the password that was verified, whatever other apps asked for', () => {
    const atTwoApps = [issued('a', NOON, { capitals: [0] }), issued('b', NOON, { appId: 'app_2', capitals: [1] })];
    expect(of(...atTwoApps, verified('b')).state.capitals).toEqual([1]);
    expect(of(...atTwoApps, verified('b'), verified('a')).state.capitals).toEqual([1]);
  });

  it('remembers that address when the stream has forgotten who verified it', () => {
    of(issued('b', NOON, { capitals: [0], isKnown: true }))
      .when(issue(NOON + MINUTE, 'new', { capitals: [1] }))
      .then([issued('new', NOON + MINUTE, { capitals: [0], isKnown: true })[0]]);
  });
});

describe('guessing a one-time password', () => {
  it('is counted, five times at most', () => {
    const four = times(4, () => guessed('a'));
    of(issued('a'), ...four)
      .when(guess())
      .then([guessed('a')[0]]);
    of(issued('a'), ...four, guessed('a'))
      .when(guess())
      .refused('otp_invalid');
  });

  it('is counted after it was redeemed too', () => {
    of(issued('a'), guessed('a'), verified('a'))
      .when(guess())
      .then([guessed('a')[0]]);
    of(issued('a'), ...times(5, () => guessed('a')), verified('a'))
      .when(guess())
      .refused('otp_invalid');
  });

  it('needs one of that app, which has not expired', () => {
    of().when(guess()).refused('otp_invalid');
    of(issued('a')).when(guess(NOON, 'app_2')).refused('otp_invalid');
    of(issued('a'))
      .when(guess(NOON + 5 * MINUTE - 1))
      .then([guessed('a')[0]]);
    of(issued('a'))
      .when(guess(NOON + 5 * MINUTE))
      .refused('otp_invalid');
  });

  it('is for nothing after the fifth, until there is another password at that app', () => {
    const five = times(5, () => guessed('a'));
    expect(isGuessedUp(of().state, 'app_1')).toBe(false);
    expect(isGuessedUp(of(issued('a'), ...five.slice(1)).state, 'app_1')).toBe(false);
    expect(isGuessedUp(of(issued('a'), ...five).state, 'app_1')).toBe(true);
    expect(isGuessedUp(of(issued('a'), ...five).state, 'app_2')).toBe(false);
    expect(isGuessedUp(of(issued('a'), ...five, issued('b')).state, 'app_1')).toBe(false);
  });

  const failures = (count: number) => times(count, () => guessed('earlier'));

  it('locks with the hundredth failure in a row, for a day', () => {
    of(...failures(98), issued('a'))
      .when(guess())
      .then([guessed('a')[0]]);
    of(...failures(99), issued('a'))
      .when(guess())
      .then([guessed('a')[0], locked()[0]]);
    of(...failures(50), verified('earlier'), ...failures(98), issued('a'))
      .when(guess())
      .then([guessed('a')[0]]);
    for (const decide of [guess(NOON + DAY - 1), issue(NOON + DAY - 1)]) {
      of(...failures(100), locked(), issued('a', NOON + DAY - MINUTE))
        .when(decide)
        .refused('otp_locked');
    }
    const { state } = of(locked());
    expect(refusalBy(() => guess()(state)).retryAfter).toBe(86_400);
    expect(refusalBy(() => guess(NOON + DAY - 1)(state)).retryAfter).toBe(1);
    of(...failures(100), locked(), issued('a', NOON + DAY))
      .when(guess(NOON + DAY))
      .then([guessed('a')[0]]);
  });

  it('does not lock when the hundredth is right after all', () => {
    of(issued('a'), ...failures(99), guessed('a'), locked(), verified('a'))
      .when(guess())
      .then([guessed('a')[0]]);
  });
});

describe('redeeming a one-time password', () => {
  it('happens once: the first session is kept', () => {
    of(issued('a'), guessed('a'))
      .when(verify('a'))
      .then([verified('a')[0]]);
    of(issued('a'), guessed('a'), verified('a')).when(verify('a', 'ses_2')).then([]);
    const { state } = of(issued('a'), guessed('a'), verified('a'));
    expect(state.passwords[0]?.redemption).toEqual({ sessionId: 'ses_1', eventId: 'event-2' });
  });

  it('needs that it was not replaced meanwhile', () => {
    of(issued('a'), guessed('a'), issued('b')).when(verify('a')).refused('otp_invalid');
  });
});

it('the passwords of an identity have a stream', () => {
  expect(oneTimePasswordStream('1')).toBe('otp-1');
});

describe('an address in lower case and its capitals', () => {
  it('give the address back, and the capitals alone say nothing of its letters', () => {
    expect(readAddress('Ada.L@Mail.Example')).toEqual({ text: 'ada.l@mail.example', capitals: [0, 4, 6, 11] });
    const ascii = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCodePoint(code)) });
    fc.assert(
      fc.property(ascii, (address) => {
        expect(writeAddress(readAddress(address))).toBe(address);
        expect(readAddress(address).text).toBe(address.toLowerCase());
      }),
    );
  });
});
