import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sessionStream, type SessionEvent } from '../../../../schemas/events/account/session-events.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { expectNothingTheSecondTime, given } from '../../../../shared/testing/given.ts';
import { endSession, isStarted, refreshSession, sessionFold, sessionIdFrom, startSession } from './session.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const HALF_MINUTE = 30_000;
const DAY = 86_400_000;
const start = {
  sessionId: 'ses_1',
  userId: 'usr_1',
  appId: 'app_1',
  method: 'wallet' as const,
  device: null,
  accessTokenId: 'a0',
  refreshTokenId: 'r0',
};
const started: [SessionEvent, number] = [{ type: 'SessionStarted', data: start }, NOON];
const refreshed = (counter: number, at: number, keyHash?: string): [SessionEvent, number] => [
  {
    type: 'SessionRefreshed',
    data: {
      ...{ sessionId: 'ses_1', counter, accessTokenId: `a${String(counter)}`, refreshTokenId: `r${String(counter)}` },
      ...(keyHash !== undefined && { keyHash }),
    },
  },
  at,
];
const revoked: SessionEvent = {
  type: 'SessionRevoked',
  data: { sessionId: 'ses_1', userId: 'usr_1', reason: 'refresh_token_reused' },
};
const ended: [SessionEvent, number] = [revoked, NOON];
const used = () => new Refusal('wallet_signature_invalid', 'another is open');
const refresh = (
  tokenId: string,
  nowMs: number,
  { next = 'next', keyHash }: { next?: string; keyHash?: string } = {},
) => {
  const successor = { accessTokenId: `a-${next}`, refreshTokenId: `r-${next}` };
  return (state: typeof sessionFold.initial) => refreshSession(state, nowMs, { tokenId, successor, keyHash });
};

describe('a session', () => {
  it('starts once; a second start with other tokens is refused', () => {
    given(sessionFold, []).decides((state) => startSession(state, start, used), [started[0]]);
    given(sessionFold, [started]).decides((state) => startSession(state, start, used), []);
    given(sessionFold, [started]).refuses(
      (state) => startSession(state, { ...start, refreshTokenId: 'other' }, used),
      'wallet_signature_invalid',
      /another is open/,
    );
  });

  it('is folded from its events', () => {
    expect(given(sessionFold, [started]).state).toEqual({
      sessionId: 'ses_1',
      userId: 'usr_1',
      appId: 'app_1',
      method: 'wallet',
      startedAt: NOON,
      counter: 0,
      accessTokenId: 'a0',
      refreshTokenId: 'r0',
      issuedAt: NOON,
      ...{ retired: [], keyHash: undefined },
      isRevoked: false,
    });
    expect(given(sessionFold, [started, refreshed(1, NOON + 1), [revoked, NOON + 2]]).state).toMatchObject({
      startedAt: NOON,
      counter: 1,
      accessTokenId: 'a1',
      refreshTokenId: 'r1',
      issuedAt: NOON + 1,
      retired: [{ tokenId: 'r0', replacedBy: 'r1', replacedAt: NOON + 1 }],
      isRevoked: true,
    });
  });

  it('does not exist without SessionStarted', () => {
    expect(given(sessionFold, [refreshed(1, NOON)]).state).toBeUndefined();
  });

  it('that ended before it started never starts, and is no session that could be refreshed', () => {
    const { state, refuses } = given(sessionFold, [ended]);
    expect(isStarted(state)).toBe(false);
    refuses((never) => startSession(never, start, used), 'session_revoked', /ended during its login/);
    refuses(refresh('r0', NOON), 'session_revoked');
    expect(given(sessionFold, [ended, started]).state).toMatchObject({ startedAt: NOON, isRevoked: true });
  });

  it('is ended once, whether it started or not, and not once it expired', () => {
    const end = { sessionId: 'ses_1', userId: 'usr_1', reason: 'logged_out' as const };
    const loggedOut: SessionEvent = { type: 'SessionRevoked', data: end };
    const at = (nowMs: number) => (state: typeof sessionFold.initial) => endSession(state, nowMs, end);
    given(sessionFold, []).decides(at(NOON), [loggedOut]);
    given(sessionFold, [ended]).decides(at(NOON), []);
    given(sessionFold, [started, ended]).decides(at(NOON), []);
    const { decides } = given(sessionFold, [started]);
    decides(at(NOON + 7 * DAY - 1), [loggedOut]);
    decides(at(NOON + 7 * DAY), []);
    const busy = [1, 2, 3, 4, 5].map((week) => refreshed(week, NOON + week * 6 * DAY - 1));
    given(sessionFold, [started, ...busy]).decides(at(NOON + 30 * DAY - 1), [loggedOut]);
    given(sessionFold, [started, ...busy]).decides(at(NOON + 30 * DAY), []);
  });

  it('that expired is ended all the same when its user is erased, once', () => {
    const end = { sessionId: 'ses_1', userId: 'usr_1', reason: 'user_erased' as const };
    const erased: SessionEvent = { type: 'SessionRevoked', data: end };
    const erase = (state: typeof sessionFold.initial) => endSession(state, NOON + 400 * DAY, end);
    given(sessionFold, [started]).decides(erase, [erased]);
    given(sessionFold, [started, [erased, NOON]]).decides(erase, []);
  });

  it('has an id and a stream name', () => {
    expect(sessionIdFrom('1')).toBe('ses_1');
    expect(sessionStream('ses_1')).toBe('session-ses_1');
  });

  it('is refreshed by its newest refresh token', () => {
    const data = { sessionId: 'ses_1', counter: 2, accessTokenId: 'a-next', refreshTokenId: 'r-next' };
    given(sessionFold, [started, refreshed(1, NOON + 1)]).decides(refresh('r1', NOON + 86_400_000), [
      { type: 'SessionRefreshed', data },
    ]);
  });

  it('accepts its previous refresh token for 30 s and is revoked by it after that', () => {
    const { decides } = given(sessionFold, [started, refreshed(1, NOON)]);
    decides(refresh('r0', NOON + HALF_MINUTE), []);
    decides(refresh('r0', NOON + HALF_MINUTE + 1), [revoked]);
  });

  it('counts those 30 s by the time that passed, where that is known, whatever the clocks say', () => {
    const { state } = given(sessionFold, [started, refreshed(1, NOON)]);
    const successor = { accessTokenId: 'a-next', refreshTokenId: 'r-next' };
    const decided = (nowMs: number, sinceIssuedMs: number) =>
      refreshSession(state, nowMs, {
        tokenId: 'r0',
        successor,
        sinceIssuedMs: (id) => (id === 'r1' ? sinceIssuedMs : undefined),
      });
    expect(decided(NOON + 3_600_000, 1_000)).toEqual([]);
    expect(decided(NOON - 3_600_000, HALF_MINUTE + 1)).toEqual([revoked]);
  });

  it('accepts its previous refresh token for 24 h with the key that rotated it, and never with another', () => {
    const { decides } = given(sessionFold, [started, refreshed(1, NOON, 'key')]);
    decides(refresh('r0', NOON + DAY, { keyHash: 'key' }), []);
    decides(refresh('r0', NOON + DAY + 1, { keyHash: 'key' }), [revoked]);
    for (const keyHash of ['other', undefined]) {
      decides(refresh('r0', NOON + HALF_MINUTE, { ...(keyHash && { keyHash }) }), []);
      decides(refresh('r0', NOON + HALF_MINUTE + 1, { ...(keyHash && { keyHash }) }), [revoked]);
    }
    given(sessionFold, [started, refreshed(1, NOON)]).decides(
      refresh('r0', NOON + HALF_MINUTE + 1, { keyHash: 'key' }),
      [revoked],
    );
  });

  it('does so with the key only as long as the successor was not used', () => {
    given(sessionFold, [started, refreshed(1, NOON, 'key'), refreshed(2, NOON + 1, 'key')]).decides(
      refresh('r0', NOON + HALF_MINUTE + 1, { keyHash: 'key' }),
      [revoked],
    );
  });

  it('refuses an older refresh token for 30 s after its own rotation, and is revoked by it after that', () => {
    const { decides, refuses } = given(sessionFold, [started, refreshed(1, NOON), refreshed(2, NOON + 10_000)]);
    refuses(refresh('r0', NOON + HALF_MINUTE), 'refresh_token_reused', /the session goes on/);
    decides(refresh('r0', NOON + HALF_MINUTE + 1), [revoked]);
    decides(refresh('r1', NOON + 10_000 + HALF_MINUTE), []);
    const third = given(sessionFold, [started, refreshed(1, NOON), refreshed(2, NOON), refreshed(3, NOON + 30_001)]);
    third.decides(refresh('r0', NOON), [revoked]);
  });

  it('is revoked by an unknown refresh token, even within 30 s', () => {
    given(sessionFold, [started]).decides(refresh('unheard of', NOON), [revoked]);
  });

  it('refuses every refresh token once it is revoked', () => {
    const { refuses } = given(sessionFold, [started, refreshed(1, NOON), [revoked, NOON]]);
    for (const token of ['r0', 'r1', 'other']) refuses(refresh(token, NOON), 'session_revoked', /sign in again/);
  });

  it('that does not exist cannot be refreshed', () => {
    given(sessionFold, []).refuses(refresh('r0', NOON), 'refresh_token_invalid', /session/);
  });

  it('has one successor for each refresh token, however often it was refreshed before or is now', () => {
    fc.assert(
      fc.property(fc.nat(20), fc.nat(HALF_MINUTE), (rotations, after) => {
        const history = Array.from({ length: rotations }, (_, at) => refreshed(at + 1, NOON));
        const { state } = given(sessionFold, [started, ...history]);
        const again = refresh(`r${String(rotations)}`, NOON + after);
        expectNothingTheSecondTime(sessionFold, state, again, NOON + after);
        expectNothingTheSecondTime(sessionFold, sessionFold.initial, (none) => startSession(none, start, used), NOON);
        const [first] = refresh(`r${String(rotations)}`, NOON)(state);
        const successor = sessionFold.evolve(state, first ?? revoked, NOON);
        const [other] = refresh(`r${String(rotations)}`, NOON + after, { next: 'other' })(successor);
        expect(other).toBeUndefined();
      }),
    );
  });
});
