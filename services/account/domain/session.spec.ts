import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sessionStream, type SessionEvent } from '../../../schemas/events/session-events.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { expectNothingTheSecondTime, given } from '../../../shared/testing/given.ts';
import { refreshSession, sessionFold, sessionIdFrom, startSession } from './session.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const HALF_MINUTE = 30_000;
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
const refreshed = (counter: number, at: number): [SessionEvent, number] => [
  {
    type: 'SessionRefreshed',
    data: { sessionId: 'ses_1', counter, accessTokenId: `a${String(counter)}`, refreshTokenId: `r${String(counter)}` },
  },
  at,
];
const revoked: SessionEvent = {
  type: 'SessionRevoked',
  data: { sessionId: 'ses_1', userId: 'usr_1', reason: 'refresh_token_reused' },
};
const used = () => new Refusal('wallet_signature_invalid', 'another is open');
const refresh = (tokenId: string, nowMs: number, next = 'next') => {
  const successor = { accessTokenId: `a-${next}`, refreshTokenId: `r-${next}` };
  return (state: typeof sessionFold.initial) => refreshSession(state, nowMs, { tokenId, successor });
};

describe('a session', () => {
  it('starts once; a second start with other tokens is refused', () => {
    given(sessionFold, [])
      .when((state) => startSession(state, start, used))
      .then([started[0]]);
    given(sessionFold, [started])
      .when((state) => startSession(state, start, used))
      .then([]);
    given(sessionFold, [started])
      .when((state) => startSession(state, { ...start, refreshTokenId: 'other' }, used))
      .refused('wallet_signature_invalid', /another is open/);
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
      previousTokenId: undefined,
      isRevoked: false,
    });
    expect(given(sessionFold, [started, refreshed(1, NOON + 1), [revoked, NOON + 2]]).state).toMatchObject({
      startedAt: NOON,
      counter: 1,
      accessTokenId: 'a1',
      refreshTokenId: 'r1',
      issuedAt: NOON + 1,
      previousTokenId: 'r0',
      isRevoked: true,
    });
  });

  it('does not exist without SessionStarted', () => {
    expect(given(sessionFold, [refreshed(1, NOON), [revoked, NOON]]).state).toBeUndefined();
  });

  it('has an id and a stream name', () => {
    expect(sessionIdFrom('1')).toBe('ses_1');
    expect(sessionStream('ses_1')).toBe('session-ses_1');
  });

  it('is refreshed by its newest refresh token', () => {
    const data = { sessionId: 'ses_1', counter: 2, accessTokenId: 'a-next', refreshTokenId: 'r-next' };
    given(sessionFold, [started, refreshed(1, NOON + 1)])
      .when(refresh('r1', NOON + 86_400_000))
      .then([{ type: 'SessionRefreshed', data }]);
  });

  it('accepts its previous refresh token for 30 s and is revoked by it after that', () => {
    const { when } = given(sessionFold, [started, refreshed(1, NOON)]);
    when(refresh('r0', NOON + HALF_MINUTE)).then([]);
    when(refresh('r0', NOON + HALF_MINUTE + 1)).then([revoked]);
  });

  it('counts those 30 s by the time that passed, where that is known, whatever the clocks say', () => {
    const { state } = given(sessionFold, [started, refreshed(1, NOON)]);
    const successor = { accessTokenId: 'a-next', refreshTokenId: 'r-next' };
    const decided = (nowMs: number, sinceIssuedMs: number) =>
      refreshSession(state, nowMs, { tokenId: 'r0', successor, sinceIssuedMs });
    expect(decided(NOON + 3_600_000, 1_000)).toEqual([]);
    expect(decided(NOON - 3_600_000, HALF_MINUTE + 1)).toEqual([revoked]);
  });

  it('is revoked by an older or unknown refresh token, even within 30 s', () => {
    given(sessionFold, [started, refreshed(1, NOON), refreshed(2, NOON)])
      .when(refresh('r0', NOON))
      .then([revoked]);
    given(sessionFold, [started]).when(refresh('unheard of', NOON)).then([revoked]);
  });

  it('refuses every refresh token once it is revoked', () => {
    const { when } = given(sessionFold, [started, refreshed(1, NOON), [revoked, NOON]]);
    for (const token of ['r0', 'r1', 'other']) when(refresh(token, NOON)).refused('session_revoked', /sign in again/);
  });

  it('that does not exist cannot be refreshed', () => {
    given(sessionFold, [])
      .when(refresh('r0', NOON))
      .refused('refresh_token_invalid', /session/);
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
        const [other] = refresh(`r${String(rotations)}`, NOON + after, 'other')(successor);
        expect(other).toBeUndefined();
      }),
    );
  });
});
