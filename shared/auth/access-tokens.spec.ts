import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT, type JWK } from 'jose';
import { eventually } from '../testing/eventually.ts';
import { TestClock } from '../testing/test-foundation.ts';
import { remoteIssuer, TOKEN_AUDIENCE, verifyToken, type TokenIssuer } from './access-tokens.jose.ts';

const ISSUER = 'http://account.test';

describe('the keys of the account service, as another service knows them', () => {
  let clock: TestClock;
  let account: Server;
  let published: JWK[];
  let issuer: TokenIssuer;
  let fetched: number;

  const newKey = async (kid: string) => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const token = () =>
      new SignJWT({ sub: 'usr_1', sid: 'ses_1', jti: 'tok_1' })
        .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
        .setIssuer(ISSUER)
        .setAudience(TOKEN_AUDIENCE)
        .setIssuedAt(Math.floor(clock.now() / 1_000))
        .setExpirationTime(Math.floor(clock.now() / 1_000) + 600)
        .sign(privateKey);
    return { jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' }, token };
  };
  const verify = async (token: string) => (await verifyToken(token, 'at+jwt', issuer, clock)).payload.sub;
  /** Moves the clock, and the fake time of the cached keys with it. */
  const passTime = (ms: number) => {
    clock.time += ms;
    jest.setSystemTime(clock.time);
  };

  beforeEach(async () => {
    clock = new TestClock();
    jest.useFakeTimers({
      now: clock.time,
      doNotFake: [
        'nextTick',
        'queueMicrotask',
        'hrtime',
        'setImmediate',
        'setTimeout',
        'clearTimeout',
        'setInterval',
        'clearInterval',
        'performance',
      ],
    });
    fetched = 0;
    published = [];
    account = createServer((_, answer) => {
      fetched += 1;
      answer.setHeader('connection', 'close').end(JSON.stringify({ keys: published }));
    }).listen(0, '127.0.0.1');
    await once(account, 'listening');
    const { port } = account.address() as AddressInfo;
    issuer = remoteIssuer(ISSUER, `http://127.0.0.1:${String(port)}/keys`, clock);
  });
  afterEach(() => {
    jest.useRealTimers();
    account.close();
  });

  it('stay valid however long the account service is away', async () => {
    const key = await newKey('a');
    published = [key.jwk];
    expect(await verify(await key.token())).toBe('usr_1');
    account.close();
    for (const ms of [11 * 60_000, 60_000, 86_400_000]) {
      passTime(ms);
      expect(await verify(await key.token())).toBe('usr_1');
    }
    expect(await issuer.hasKeys()).toBe(true);
  });

  it('are fetched again beside the requests, so that a key that is withdrawn is refused', async () => {
    const [old, next] = [await newKey('a'), await newKey('b')];
    published = [old.jwk];
    expect(await verify(await old.token())).toBe('usr_1');
    published = [next.jwk];
    passTime(60_000);
    expect(await verify(await old.token())).toBe('usr_1');
    await eventually(() => fetched === 2, 2_000, 'the keys must be fetched again');
    const isRefused = async () =>
      verify(await old.token()).then(
        () => false,
        () => true,
      );
    await eventually(isRefused, 2_000, 'the withdrawn key must be refused');
    expect(await verify(await next.token())).toBe('usr_1');
  });

  it('that are new are fetched at once', async () => {
    const [old, next] = [await newKey('a'), await newKey('b')];
    published = [old.jwk];
    expect(await verify(await old.token())).toBe('usr_1');
    published = [old.jwk, next.jwk];
    passTime(1_001);
    expect(await verify(await next.token())).toBe('usr_1');
  });
});
