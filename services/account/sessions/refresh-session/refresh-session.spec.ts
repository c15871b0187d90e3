import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt, SignJWT, UnsecuredJWT } from 'jose';
import type { Session } from '../../../../schemas/http/account/account-routes.ts';
import { atOnce } from '../../../../shared/testing/at-once.ts';
import { codeOf, problemOfAnswer } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { bearer, sessionOf } from '../../testing/sessions.ts';

const folder = temporaryFolder();
const DAY = 86_400_000;
const KEY = 'a-secret-of-this-client';
const claimsOf = ({ refreshToken }: Session) => decodeJwt<{ sid: string; ctr: number }>(refreshToken);

describe('refreshing a session', () => {
  let account: AccountUnderTest;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
  });
  afterAll(() => account.service.close());

  it('gives new tokens of the same session', async () => {
    const first = await account.logIn(account.newWallet());
    account.clock.time += 60_000;
    const answer = await account.refresh(first.refreshToken);
    expect(answer.status).toBe(201);
    expect(answer.headers.get('x-position')).toMatch(/^[\w-]{20,}$/);
    const second = await sessionOf(answer);
    expect(Object.keys(second).sort()).toEqual(Object.keys(first).sort());
    expect(claimsOf(second)).toMatchObject({ sid: claimsOf(first).sid, sub: first.userId, ctr: 1 });
    expect(claimsOf(second).jti).not.toBe(claimsOf(first).jti);
    expect(decodeJwt(second.accessToken).jti).not.toBe(decodeJwt(first.accessToken).jti);
    expect(second.accessTokenExpire).toBe(first.accessTokenExpire + 60_000);
    expect(second.refreshTokenExpire).toBe(first.refreshTokenExpire + 60_000);
  });

  it('gives a thousand parallel requests the same successor', async () => {
    const { refreshToken } = await account.logIn(account.newWallet());
    const answers = await atOnce(1_000, () => account.refresh(refreshToken));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    const sessions = await Promise.all(answers.map(sessionOf));
    expect(new Set(sessions.map((one) => JSON.stringify(claimsOf(one)))).size).toBe(1);
    const [one] = sessions;
    const events = await account.foundation.eventStore.read(`session-${one ? claimsOf(one).sid : ''}`);
    expect(events.map(({ type }) => type)).toEqual(['SessionStarted', 'SessionRefreshed']);
  });

  it('answers the previous token the same again for 30 s', async () => {
    const first = await account.logIn(account.newWallet());
    const second = await sessionOf(await account.refresh(first.refreshToken));
    account.clock.time += 30_000;
    expect(claimsOf(await sessionOf(await account.refresh(first.refreshToken)))).toEqual(claimsOf(second));
    expect((await account.refresh(second.refreshToken)).status).toBe(201);
  });

  it('ends the session when the previous token comes after more than 30 s', async () => {
    const first = await account.logIn(account.newWallet());
    const second = await sessionOf(await account.refresh(first.refreshToken));
    account.clock.time += 30_001;
    expect(await codeOf(await account.refresh(first.refreshToken))).toBe('refresh_token_reused');
    expect(await codeOf(await account.refresh(first.refreshToken))).toBe('session_revoked');
    expect(await codeOf(await account.refresh(second.refreshToken))).toBe('session_revoked');
    const events = await account.foundation.eventStore.read(`session-${claimsOf(first).sid}`);
    expect(events.at(-1)).toMatchObject({ type: 'SessionRevoked', data: { userId: first.userId } });
  });

  it('ends the session also for its access token, within two seconds, although no projection runs', async () => {
    const first = await account.logIn(account.newWallet());
    const headers = bearer(first);
    const change = () =>
      account.ask(`/user/${first.userId}/profile`, { method: 'POST', headers, body: { username: 'ada' } });
    expect((await change()).status).toBe(200);
    await account.refresh(first.refreshToken);
    account.clock.time += 30_001;
    expect(await codeOf(await account.refresh(first.refreshToken))).toBe('refresh_token_reused');
    account.clock.time += 1_999;
    expect(await codeOf(await change())).toBe('session_revoked');
  });

  it('refuses the third of three tabs, and ends nothing; after 30 s it ends the session', async () => {
    const first = await account.logIn(account.newWallet());
    const second = await sessionOf(await account.refresh(first.refreshToken));
    const third = await sessionOf(await account.refresh(second.refreshToken));
    expect(await codeOf(await account.refresh(first.refreshToken))).toBe('refresh_token_reused');
    const fourth = await account.refresh(third.refreshToken);
    expect(fourth.status).toBe(201);
    account.clock.time += 30_001;
    expect(await codeOf(await account.refresh(first.refreshToken))).toBe('refresh_token_reused');
    expect(await codeOf(await account.refresh((await sessionOf(fourth)).refreshToken))).toBe('session_revoked');
  });

  it('gives a thousand parallel requests with a key the same successor, and a day later again', async () => {
    const { refreshToken } = await account.logIn(account.newWallet());
    const headers = { 'idempotency-key': KEY };
    const many = await atOnce(1_000, () => account.refresh(refreshToken, headers));
    account.clock.time += DAY;
    const sessions = await Promise.all([...many, await account.refresh(refreshToken, headers)].map(sessionOf));
    expect(new Set(sessions.map((one) => JSON.stringify(claimsOf(one)))).size).toBe(1);
    const { refreshToken: successor = '' } = sessions[0] ?? {};
    expect((await account.refresh(successor)).status).toBe(201);
    expect(await codeOf(await account.refresh(refreshToken, headers))).toBe('refresh_token_reused');
  });

  it('is possible for 7 days after the last refresh, and for 30 days in all', async () => {
    const idle = await account.logIn(account.newWallet());
    let busy = await account.logIn(account.newWallet());
    const began = account.clock.time;
    for (let days = 6; days <= 24; days += 6) {
      account.clock.time = began + days * DAY;
      busy = await sessionOf(await account.refresh(busy.refreshToken));
    }
    expect(await codeOf(await account.refresh(idle.refreshToken))).toBe('refresh_token_invalid');
    expect(busy.refreshTokenExpire).toBe(Math.floor(began / 1_000) * 1_000 + 30 * DAY);
    account.clock.time = began + 30 * DAY;
    expect(await codeOf(await account.refresh(busy.refreshToken))).toBe('refresh_token_invalid');
  });

  it('refuses an access token and tokens that are forged, unsigned, changed or malformed', async () => {
    const { accessToken, refreshToken } = await account.logIn(account.newWallet());
    const claims = decodeJwt(refreshToken);
    const forged = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', typ: 'rt+jwt' })
      .sign(new Uint8Array(32));
    const unsigned = new UnsecuredJWT(claims).encode();
    const [head = '', body = '', signature = ''] = refreshToken.split('.');
    const changed = [head, Buffer.from(JSON.stringify({ ...claims, ctr: 9 })).toString('base64url'), signature].join(
      '.',
    );
    for (const wrong of [accessToken, forged, unsigned, changed, `${head}.${body}.`, 'x', '']) {
      expect(await codeOf(await account.refresh(wrong))).toBe('refresh_token_invalid');
    }
    for (const body of [{}, { refreshToken: { $gt: '' } }, { refreshToken: 1 }, []]) {
      expect(await codeOf(await account.ask('/auth/refresh', { method: 'POST', body }))).toBe('validation_failed');
    }
    expect((await account.refresh(refreshToken)).status).toBe(201);
  });

  it('with another key than that of the rotation ends the session after 30 s, and keeps only a hash of the key', async () => {
    const { refreshToken } = await account.logIn(account.newWallet());
    const head = await account.foundation.eventStore.head();
    const by = (key: string) => account.refresh(refreshToken, { 'idempotency-key': key });
    expect((await by(KEY)).status).toBe(201);
    const { events } = await account.foundation.eventStore.readAll(head, undefined, 10);
    expect(events.map(({ type }) => type)).toEqual(['SessionRefreshed']);
    expect(events[0]?.dataText).toMatch(/"keyHash":"[0-9a-f]{64}"/);
    expect(events[0]?.dataText).not.toContain(KEY);
    account.clock.time += 30_001;
    expect(await codeOf(await by(`${KEY}x`))).toBe('refresh_token_reused');
    expect(await codeOf(await by(KEY))).toBe('session_revoked');
  });

  it('refuses a key that is too short to be a secret, or has characters that are not visible', async () => {
    const { refreshToken } = await account.logIn(account.newWallet());
    for (const key of ['x'.repeat(15), 'x'.repeat(129), `not visible ${'x'.repeat(16)}`]) {
      const problem = await problemOfAnswer(await account.refresh(refreshToken, { 'idempotency-key': key }));
      expect(problem).toMatchObject({ code: 'validation_failed', errors: [{ path: 'idempotency-key' }] });
    }
  });

  it('with what is no token stores nothing, with an idempotency key or without', async () => {
    const { accessToken } = await account.logIn(account.newWallet());
    const head = await account.foundation.eventStore.head();
    for (const token of ['x', '', accessToken]) {
      for (const headers of [{}, { 'idempotency-key': KEY }]) {
        expect(await codeOf(await account.refresh(token, headers))).toBe('refresh_token_invalid');
      }
    }
    const headers = { 'idempotency-key': KEY };
    expect(await codeOf(await account.ask('/auth/refresh', { method: 'POST', body: {}, headers }))).toBe(
      'validation_failed',
    );
    expect(await account.foundation.eventStore.head()).toBe(head);
  });

  it('gives a client that lost an answer the same again, although the clock was set meanwhile', async () => {
    for (const jumpMs of [3_600_000, -3_600_000]) {
      const first = await account.logIn(account.newWallet());
      const second = await sessionOf(await account.refresh(first.refreshToken));
      account.clock.jump(jumpMs);
      account.clock.time += 1_000;
      expect(claimsOf(await sessionOf(await account.refresh(first.refreshToken)))).toEqual(claimsOf(second));
      account.clock.time += 30_000;
      expect(await codeOf(await account.refresh(first.refreshToken))).toBe('refresh_token_reused');
    }
  });
});

describe('the rate limit of refreshes', () => {
  it('counts rotations of one session, neither repeats nor the revocation', async () => {
    const RATE_LIMITS = JSON.stringify({ refresh: { points: 2, seconds: 300 } });
    await using account = await startAccountUnderTest(folder, { RATE_LIMITS });
    const first = await account.logIn(account.newWallet());
    const answer = await account.refresh(first.refreshToken);
    expect(answer.headers.get('ratelimit')).toBe('"refresh";r=1;t=300');
    for (let repeat = 0; repeat < 5; repeat += 1) {
      expect((await account.refresh(first.refreshToken)).headers.get('ratelimit')).toMatch(/r=1/);
    }
    const third = await sessionOf(await account.refresh((await sessionOf(answer)).refreshToken));
    const refused = await account.refresh(third.refreshToken);
    const problem = await problemOfAnswer(refused);
    expect(problem.code).toBe('rate_limited');
    expect(problem.retryAfter).toBeGreaterThan(0);
    expect(refused.headers.get('ratelimit-policy')).toBe('"refresh";q=2;w=300');
    expect((await account.refresh((await account.logIn(account.newWallet())).refreshToken)).status).toBe(201);
    account.clock.time += 30_001;
    expect(await codeOf(await account.refresh(first.refreshToken))).toBe('refresh_token_reused');
    expect(await codeOf(await account.refresh(third.refreshToken))).toBe('session_revoked');
  });

  it('does not count what a client repeats with its key', async () => {
    const RATE_LIMITS = JSON.stringify({ refresh: { points: 1, seconds: 300 } });
    await using account = await startAccountUnderTest(folder, { RATE_LIMITS });
    const { refreshToken } = await account.logIn(account.newWallet());
    for (let repeat = 0; repeat < 3; repeat += 1) {
      expect((await account.refresh(refreshToken, { 'idempotency-key': KEY })).status).toBe(201);
      account.clock.time += 60_000;
    }
  });
});
