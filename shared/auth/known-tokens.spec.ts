import { beforeEach, describe, expect, it } from '@jest/globals';
import { TestClock } from '../testing/test-foundation.ts';
import { testIssuer } from '../testing/http/test-tokens.jose.ts';
import { AccessTokens } from './access-tokens.jose.ts';

describe('an access token that was verified', () => {
  let clock: TestClock;
  let checked: number;
  let ended: Set<string>;
  let tokens: AccessTokens;
  let accessToken: Awaited<ReturnType<typeof testIssuer>>['accessToken'];
  beforeEach(async () => {
    clock = new TestClock(Date.now());
    checked = 0;
    ended = new Set();
    const made = await testIssuer();
    ({ accessToken } = made);
    const { issuer } = made;
    const counting: typeof issuer = {
      ...issuer,
      key: (...args) => {
        checked += 1;
        return issuer.key(...args);
      },
    };
    const sessions = { hasEnded: (id: string) => Promise.resolve(ended.has(id)) };
    const apps = {
      isRevoked: () => Promise.resolve(false),
      isServerKeyRevoked: ({ signer }: { signer: string }) => Promise.resolve(ended.has(signer)),
    };
    tokens = new AccessTokens(counting, clock, sessions, apps);
  });

  it('is known for half a minute, and its signature is then checked again', async () => {
    const token = await accessToken();
    const verify = async () => (await tokens.verify(token)).userId;
    for (const [afterMs, times] of [
      [0, 1],
      [0, 1],
      [29_999, 1],
      [1, 2],
      [0, 2],
    ] as const) {
      clock.time += afterMs;
      expect([await verify(), checked]).toEqual(['usr_1', times]);
    }
  });

  it('is refused at once when it expires or its session ends', async () => {
    const expiry = Math.floor(clock.now() / 1_000) + 10;
    const token = await accessToken({ claims: { exp: expiry } });
    await tokens.verify(token);
    ended.add('ses_1');
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'session_revoked' });
    ended.clear();
    clock.time = expiry * 1_000 - 1;
    expect(await tokens.verify(token)).toMatchObject({ userId: 'usr_1', expiresAtMs: expiry * 1_000 });
    clock.time = expiry * 1_000;
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'token_expired' });
    expect(checked).toBe(1);
  });

  it('is refused at once when it is an app’s own and its server key is revoked', async () => {
    const server_key = `0x${'1'.repeat(40)}`;
    const token = await accessToken({ claims: { sub: 'app_1', sid: undefined, amr: ['app'], server_key } });
    expect(await tokens.verify(token)).toMatchObject({ kind: 'app-itself', appId: 'app_1', serverKey: server_key });
    ended.add(server_key);
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'token_invalid' });
  });

  it('does not make another one known that differs in any character, nor one that was refused', async () => {
    const token = await accessToken();
    await tokens.verify(token);
    const stranger = await testIssuer();
    const [header, payload] = token.split('.');
    const [, , signature] = (await stranger.accessToken()).split('.');
    const forged = [header, payload, signature].join('.');
    for (let time = 0; time < 2; time += 1) {
      for (const other of [forged, token.slice(0, -2), token.replace('.', '..')]) {
        await expect(tokens.verify(other)).rejects.toMatchObject({ code: 'token_invalid' });
      }
    }
  });
});
