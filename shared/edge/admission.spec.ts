import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair, UnsecuredJWT } from 'jose';
import { sessionsModel } from '../read-models/account/sessions.ts';
import { storedEvent } from '../testing/event-builder.ts';
import { problemOfAnswer } from '../testing/http/problem-of-answer.ts';
import { projectInto } from '../testing/project.ts';
import { startThings } from '../testing/http/things-service.ts';
import { TEST_ISSUER } from '../testing/http/test-tokens.jose.ts';

const seconds = () => Math.floor(Date.now() / 1_000);

describe('a route that needs an access token', () => {
  let things: Awaited<ReturnType<typeof startThings>>;
  beforeAll(async () => {
    things = await startThings({ environment: { RATE_LIMITS: 'off' } });
  });
  afterAll(() => things.service.close());

  const codeFor = async (authorization: string | undefined) => {
    const headers = { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) };
    const answer = await things.ask('/things', { method: 'POST', headers, body: '{"name":"n"}' });
    return answer.ok ? 'let in' : (await problemOfAnswer(answer)).code;
  };

  it('admits a request with a token', async () => {
    expect(await codeFor(`Bearer ${await things.tokens.accessToken()}`)).toBe('let in');
    expect(await codeFor(`bearer ${await things.tokens.accessToken()}`)).toBe('let in');
  });

  it('refuses a request without a token', async () => {
    for (const none of [undefined, '', 'Bearer', 'Basic dTpw']) expect(await codeFor(none)).toBe('token_missing');
  });

  it('refuses text that is not a token', async () => {
    for (const wrong of ['x', 'a.b.c', '..', 'e30.e30.e30', `${'x'.repeat(4_000)}.x.x`]) {
      expect(await codeFor(`Bearer ${wrong}`)).toBe('token_invalid');
    }
  });

  it('refuses a token that nobody signed', async () => {
    const claims = {
      iss: TEST_ISSUER,
      aud: 'annals',
      sub: 'usr_1',
      sid: 's',
      client_id: 'a',
      app: 'a',
      amr: ['wallet'],
      jti: 'j',
    };
    const unsigned = new UnsecuredJWT({ ...claims, iat: seconds(), exp: seconds() + 600 }).encode();
    expect(await codeFor(`Bearer ${unsigned}`)).toBe('token_invalid');
    const signed = await things.tokens.accessToken();
    const none = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url');
    expect(await codeFor(`Bearer ${none}.${signed.split('.')[1] ?? ''}.`)).toBe('token_invalid');
  });

  it('refuses a token of another key, another kind of key, or changed after it was signed', async () => {
    const { privateKey } = await generateKeyPair('ES256');
    expect(await codeFor(`Bearer ${await things.tokens.accessToken({ key: privateKey })}`)).toBe('token_invalid');
    const secret = new TextEncoder().encode('public keys make poor secrets, but some libraries take them');
    const symmetric = await things.tokens.accessToken({ key: secret, header: { alg: 'HS256' } });
    expect(await codeFor(`Bearer ${symmetric}`)).toBe('token_invalid');
    const [header, , signature] = (await things.tokens.accessToken()).split('.');
    const [, other] = (await things.tokens.accessToken({ claims: { sub: 'usr_2' } })).split('.');
    expect(await codeFor(`Bearer ${[header, other, signature].join('.')}`)).toBe('token_invalid');
  });

  it('refuses a token that brings its key, or says where to fetch it', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), alg: 'ES256' };
    const set = Buffer.from(JSON.stringify({ keys: [jwk] })).toString('base64');
    const url = `data:application/json;base64,${set}`;
    for (const header of [{ jwk }, { jku: url }, { x5u: url }]) {
      const token = await things.tokens.accessToken({ key: privateKey, header });
      expect(await codeFor(`Bearer ${token}`)).toBe('token_invalid');
    }
  });

  it('refuses a refresh token, a foreign issuer or audience, and a token without its claims', async () => {
    const wrong: Parameters<typeof things.tokens.accessToken>[0][] = [
      { header: { typ: 'rt+jwt' } },
      { header: { typ: 'JWT' } },
      { claims: { iss: 'http://elsewhere.test' } },
      { claims: { aud: 'other' } },
      { claims: { amr: 'wallet' } },
      { claims: { sid: 7 } },
    ];
    for (const one of wrong) {
      expect(await codeFor(`Bearer ${await things.tokens.accessToken(one)}`)).toBe('token_invalid');
    }
  });

  it('refuses a token before its time', async () => {
    const token = await things.tokens.accessToken({ claims: { nbf: seconds() + 60 } });
    expect(await codeFor(`Bearer ${token}`)).toBe('token_invalid');
  });

  it('reports an expired token, but not for a forged one', async () => {
    const expired = { exp: seconds() - 1 };
    expect(await codeFor(`Bearer ${await things.tokens.accessToken({ claims: expired })}`)).toBe('token_expired');
    const { privateKey } = await generateKeyPair('ES256');
    const forged = await things.tokens.accessToken({ claims: expired, key: privateKey });
    expect(await codeFor(`Bearer ${forged}`)).toBe('token_invalid');
  });

  it('refuses a token whose session has ended', async () => {
    const sessionId = 'ses_ended';
    const started = storedEvent('SessionStarted', { sessionId }, { position: 1 });
    const revoked = storedEvent('SessionRevoked', { sessionId }, { position: 2 });
    await projectInto(things.foundation.readStore, [sessionsModel], [started, revoked]);
    const token = await things.tokens.accessToken({ claims: { sid: sessionId } });
    expect(await codeFor(`Bearer ${token}`)).toBe('session_revoked');
  });
});

describe('tokens in production', () => {
  const environment = {
    NODE_ENV: 'production',
    MASTER_KEY: 'S1pGN3K3U3bQvWl2hVJgQy3rGtq0WfOnlbF5pBbWm0A=',
    CHAINS: '[{"chainId":1,"rpcUrls":["http://127.0.0.1:1"]}]',
  };
  const statusOver = async (trusted: string, headers: Record<string, string>) => {
    await using things = await startThings({ environment: { ...environment, TRUSTED_PROXIES: trusted } });
    const answer = await things.post({ name: 'n' }, headers);
    return answer.ok ? answer.status : (await problemOfAnswer(answer)).code;
  };

  it('are refused on plain HTTP', async () => {
    expect(await statusOver('', {})).toBe('https_required');
  });

  it('are refused when an untrusted client claims HTTPS', async () => {
    expect(await statusOver('', { 'x-forwarded-proto': 'https' })).toBe('https_required');
    expect(await statusOver('10.0.0.0/8', { 'x-forwarded-proto': 'https' })).toBe('https_required');
  });

  it('are accepted when a trusted proxy reports HTTPS', async () => {
    expect(await statusOver('127.0.0.1', { 'x-forwarded-proto': 'https' })).toBe(201);
    expect(await statusOver('127.0.0.1', { 'x-forwarded-proto': 'http' })).toBe('https_required');
  });
});
