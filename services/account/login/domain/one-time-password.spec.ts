import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { OtpEvent } from '../../../../schemas/events/account/otp-events.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';
import { expectNothingTheSecondTime, given, refusalBy } from '../../../../shared/testing/given.ts';
import { readAddress, writeAddress } from './email-address.ts';
import {
  deliveryOf,
  guessOneTimePassword,
  issuedAt,
  issueOneTimePassword,
  oneTimePasswordFold,
  oneTimePasswordStream,
  requestsLeft,
  verifyOneTimePassword,
  withoutMessage,
  type OneTimePasswords,
  type RequestLimit,
} from './one-time-password.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const MINUTE = 60_000;
const DAY = 86_400_000;
const perMinute: RequestLimit = { name: 'otpRequest', points: 1, seconds: 60 };
const perDay: RequestLimit = { name: 'otpRequestDay', points: 10, seconds: 86_400 };
const limits = [perMinute, perDay];
const all: RequestLimit = { name: 'otpRequestAll', points: 50, seconds: 86_400 };

type Timed = [OtpEvent, number];
const issued = (
  otpId: string,
  at = NOON,
  changes: Partial<{ appId: string; capitals: number[]; isKnown: boolean; verifiedApps: string[]; isSent: false }> = {},
): Timed => {
  const password = {
    otpId,
    appId: 'app_1',
    passwordHash: `hash of ${otpId}`,
    capitals: [],
    isKnown: false,
    verifiedApps: [],
  };
  return [{ type: 'OtpIssued', data: { ...password, ...changes, expiresAt: toIso(at + 5 * MINUTE) } }, at];
};
const guessed = (otpId: string, at = NOON): Timed => [{ type: 'OtpGuessed', data: { otpId } }, at];
const verified = (otpId: string, at = NOON): Timed => [
  { type: 'OtpVerified', data: { otpId, sessionId: 'ses_1' } },
  at,
];
const locked = (at = NOON, appId = 'app_1'): Timed => [
  { type: 'OtpLocked', data: { appId, until: toIso(at + DAY) } },
  at,
];
const withToken = (otpId: string, at = NOON): Timed => [{ type: 'OtpGuessed', data: { otpId, withToken: true } }, at];
const notSent = (otpId: string, at = NOON): Timed => [{ type: 'OtpNotSent', data: { otpId } }, at];
const times = (count: number, one: (at: number) => Timed): Timed[] => Array.from({ length: count }, (_, at) => one(at));

const issue = (nowMs: number, otpId = 'new', changes: { appId?: string; capitals?: number[] } = {}) => {
  const request = { otpId, appId: 'app_1', passwordHash: `hash of ${otpId}`, capitals: [], limits, all, ...changes };
  return (state: OneTimePasswords) => issueOneTimePassword(state, nowMs, request);
};
const guess =
  (nowMs = NOON, appId = 'app_1', tokenOf = '') =>
  (state: OneTimePasswords) =>
    guessOneTimePassword(state, nowMs, { appId, hasToken: (otpId) => otpId === tokenOf });
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
    of().decides(issue(NOON), [issued('new')[0]]);
    expectNothingTheSecondTime(oneTimePasswordFold, of().state, issue(NOON), NOON);
  });

  it('is allowed once a minute at an app, whatever other apps ask for', () => {
    of(issued('a')).refuses(issue(NOON + MINUTE - 1), 'rate_limited', /1 .* per 60 s/);
    of(issued('a')).decides(issue(NOON + MINUTE - 1, 'new', { appId: 'app_2' }), [
      issued('new', NOON + MINUTE - 1, { appId: 'app_2' })[0],
    ]);
    of(issued('a')).decides(issue(NOON + MINUTE), [issued('new', NOON + MINUTE)[0]]);
  });

  it('is allowed ten times a day at an app', () => {
    const ten = times(10, (at) => issued(String(at), NOON + at * MINUTE));
    of(...ten).refuses(issue(NOON + DAY - 1), 'rate_limited', /10 .* per 86400 s/);
    of(...ten).decides(issue(NOON + DAY), [issued('new', NOON + DAY)[0]]);
  });

  it('tells how many more there may be, and when', () => {
    const { state } = of(...times(9, (at) => issued(String(at), NOON + at * MINUTE)));
    expect(requestsLeft(issuedAt(state, 'app_1'), NOON + 9 * MINUTE, perDay)).toEqual({ left: 1, waitMs: 0 });
    const full = of(...times(10, (at) => issued(String(at), NOON + at * MINUTE)));
    expect(requestsLeft(issuedAt(full.state, 'app_1'), NOON + 9 * MINUTE, perDay)).toEqual({
      left: 0,
      waitMs: DAY - 9 * MINUTE,
    });
    expect(requestsLeft([], NOON, perMinute)).toEqual({ left: 1, waitMs: 0 });
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
    expect(issuedAt(state, 'app_1')).toHaveLength(100);
    expect(requestsLeft(state.issuedAt, NOON + 150, { points: 1_000, seconds: 86_400 }).left).toBe(0);
  });

  it('is sent to the address whose password was verified first, not to the one of whoever asks', () => {
    of(issued('a', NOON, { capitals: [0] })).decides(issue(NOON + MINUTE, 'new', { capitals: [1] }), [
      issued('new', NOON + MINUTE, { capitals: [1] })[0],
    ]);
    of(issued('a', NOON, { capitals: [0] }), guessed('a'), verified('a')).decides(
      issue(NOON + MINUTE, 'new', { capitals: [1] }),
      [issued('new', NOON + MINUTE, { capitals: [0], isKnown: true, verifiedApps: ['app_1'] })[0]],
    );
  });

  it('is sent to the address of the password that was verified, whatever other apps asked for', () => {
    const atTwoApps = [issued('a', NOON, { capitals: [0] }), issued('b', NOON, { appId: 'app_2', capitals: [1] })];
    expect(of(...atTwoApps, verified('b')).state.capitals).toEqual([1]);
    expect(of(...atTwoApps, verified('b'), verified('a')).state.capitals).toEqual([1]);
  });

  it('remembers that address when the stream has forgotten who verified it', () => {
    of(issued('b', NOON, { capitals: [0], isKnown: true })).decides(issue(NOON + MINUTE, 'new', { capitals: [1] }), [
      issued('new', NOON + MINUTE, { capitals: [0], isKnown: true })[0],
    ]);
  });
});

describe('guessing a one-time password', () => {
  it('is counted, five times at most', () => {
    const four = times(4, () => guessed('a'));
    of(issued('a'), ...four).decides(guess(), [guessed('a')[0]]);
    of(issued('a'), ...four, guessed('a')).refuses(guess(), 'otp_invalid');
  });

  it('is counted after it was redeemed too', () => {
    of(issued('a'), guessed('a'), verified('a')).decides(guess(), [guessed('a')[0]]);
    of(issued('a'), ...times(5, () => guessed('a')), verified('a')).refuses(guess(), 'otp_invalid');
  });

  it('needs one of that app, which has not expired', () => {
    of().refuses(guess(), 'otp_invalid');
    of(issued('a')).refuses(guess(NOON, 'app_2'), 'otp_invalid');
    of(issued('a')).decides(guess(NOON + 5 * MINUTE - 1), [guessed('a')[0]]);
    of(issued('a')).refuses(guess(NOON + 5 * MINUTE), 'otp_invalid');
  });

  it('with the token is counted five times more, whatever others guessed', () => {
    const strangers = times(5, () => guessed('a'));
    of(issued('a'), ...strangers).decides(guess(NOON, 'app_1', 'a'), [withToken('a')[0]]);
    of(issued('a'), ...strangers, ...times(4, () => withToken('a'))).decides(guess(NOON, 'app_1', 'a'), [
      withToken('a')[0],
    ]);
    of(issued('a'), ...strangers, ...times(5, () => withToken('a'))).refuses(guess(NOON, 'app_1', 'a'), 'otp_invalid');
    of(issued('a'), ...times(5, () => withToken('a'))).decides(guess(), [guessed('a')[0]]);
    of(issued('a'), ...times(10, () => withToken('a'))).refuses(guess(), 'otp_invalid');
  });

  it('has no more with the token of an earlier password', () => {
    of(issued('a'), issued('b'), ...times(5, () => guessed('b'))).refuses(guess(NOON, 'app_1', 'a'), 'otp_invalid');
  });

  /** Of one password, as if each could be guessed so often. */
  const failures = (count: number, otpId = 'a') => times(count, () => guessed(otpId));
  const afterFailures = (count: number) => [issued('a'), ...failures(count), issued('b')];

  it('locks with the hundredth failure in a row at an app, for a day', () => {
    of(...afterFailures(98)).decides(guess(), [guessed('b')[0]]);
    of(...afterFailures(99)).decides(guess(), [guessed('b')[0], locked()[0]]);
    of(issued('a'), ...failures(50), verified('a'), ...failures(98), issued('b')).decides(guess(), [guessed('b')[0]]);
    for (const decide of [guess(NOON + DAY - 1), issue(NOON + DAY - 1)]) {
      of(...afterFailures(100), locked(), issued('c', NOON + DAY - MINUTE)).refuses(decide, 'otp_locked');
    }
    const { state } = of(locked());
    expect(refusalBy(() => guess()(state)).retryAfter).toBe(86_400);
    expect(refusalBy(() => guess(NOON + DAY - 1)(state)).retryAfter).toBe(1);
    of(...afterFailures(100), locked(), issued('c', NOON + DAY)).decides(guess(NOON + DAY), [guessed('c')[0]]);
  });

  it('neither counts nor locks at other apps', () => {
    const theirs = [issued('x', NOON, { appId: 'app_2' }), ...failures(99, 'x')];
    of(...theirs, issued('a')).decides(guess(), [guessed('a')[0]]);
    of(locked(NOON, 'app_2'), issued('a')).decides(guess(), [guessed('a')[0]]);
    of(locked(NOON, 'app_2')).decides(issue(NOON), [issued('new')[0]]);
    of(...afterFailures(99), issued('y', NOON, { appId: 'app_2' }), verified('y')).decides(guess(), [
      guessed('b')[0],
      locked()[0],
    ]);
  });

  it('does not lock when the hundredth is right after all', () => {
    of(...afterFailures(99), guessed('b'), locked(), verified('b'), issued('c')).decides(guess(), [guessed('c')[0]]);
  });
});

describe('passwords of all apps together', () => {
  const apps = (count: number, verifiedApps: string[] = []) =>
    times(count, (at) => issued(String(at), NOON + at, { appId: `app_${String(10 + at)}`, verifiedApps }));
  const delivery = (history: Timed[], appId = 'app_1', nowMs = NOON + 60) =>
    deliveryOf(of(...history).state, nowMs, { appId, limit: all });

  it('are sent up to the limit', () => {
    expect(delivery(apps(49))).toBe('awaited');
    expect(delivery(apps(50), 'app_1', NOON + DAY)).toBe('awaited');
    expect(deliveryOf(of(...apps(50)).state, NOON + 60, { appId: 'app_1', limit: undefined })).toBe('awaited');
  });

  it('are sent beyond it where the identity logged in before, and nowhere else', () => {
    const known = [
      issued('a', NOON - DAY),
      guessed('a', NOON - DAY),
      verified('a', NOON - DAY),
      ...apps(50, ['app_1']),
    ];
    expect(delivery(known)).toBe('unawaited');
    expect(delivery(known, 'app_2')).toBe('none');
    expect(delivery(apps(50))).toBe('none');
  });

  it('say of one whose message is not sent that it is not', () => {
    of(...apps(50)).decides(issue(NOON + 60, 'b'), [issued('b', NOON + 60, { isSent: false })[0]]);
    of(...apps(49)).decides(issue(NOON + 60, 'b'), [issued('b', NOON + 60)[0]]);
  });

  it('say where that was, when the stream has forgotten it', () => {
    of(issued('a'), verified('a')).decides(issue(NOON + MINUTE, 'b', { appId: 'app_2' }), [
      issued('b', NOON + MINUTE, { appId: 'app_2', isKnown: true, verifiedApps: ['app_1'] })[0],
    ]);
    expect(delivery(apps(50, ['app_1']))).toBe('unawaited');
  });
});

describe('a message that no server took', () => {
  it('does not count, at its app and at all', () => {
    const { state } = of(issued('a'), issued('b', NOON + 1, { appId: 'app_2' }), notSent('a'));
    expect(state.issuedAt).toEqual([NOON + 1]);
    expect(issuedAt(state, 'app_1')).toEqual([]);
    of(issued('a'), notSent('a')).decides(issue(NOON + 1), [issued('new', NOON + 1)[0]]);
  });

  it('is said once, and of the newest password only', () => {
    const decide = (state: OneTimePasswords) => withoutMessage(state, 'a');
    of(issued('a')).decides(decide, [notSent('a')[0]]);
    of(issued('a'), notSent('a')).decides(decide, []);
    of(issued('a'), issued('b')).decides(decide, []);
  });
});

describe('a clock that went back', () => {
  it('counts no request, lock or password of a time that is not yet', () => {
    of(...times(10, (at) => issued(String(at), NOON + DAY + at))).decides(issue(NOON), [issued('new')[0]]);
    of(locked(NOON + DAY), issued('a')).decides(guess(), [guessed('a')[0]]);
    of(issued('a', NOON + DAY)).refuses(guess(), 'otp_invalid');
  });

  it('is not one of another process that is a little ahead', () => {
    of(issued('a', NOON + 1_000)).refuses(issue(NOON), 'rate_limited');
    of(issued('a', NOON + 1_000)).decides(guess(), [guessed('a')[0]]);
  });
});

describe('redeeming a one-time password', () => {
  it('happens once: the first session is kept', () => {
    of(issued('a'), guessed('a')).decides(verify('a'), [verified('a')[0]]);
    of(issued('a'), guessed('a'), verified('a')).decides(verify('a', 'ses_2'), []);
    const { state } = of(issued('a'), guessed('a'), verified('a'));
    expect(state.passwords[0]?.redemption).toEqual({ sessionId: 'ses_1', eventId: 'event-2' });
  });

  it('needs that it was not replaced meanwhile', () => {
    of(issued('a'), guessed('a'), issued('b')).refuses(verify('a'), 'otp_invalid');
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
