import { generateKeyPair } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { io } from 'socket.io-client';
import { problem } from '../../../schemas/http/problem.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { StreamClient } from '../testing/stream-client.socketio.ts';
import { streamUnderTest } from '../testing/stream-under-test.module.ts';

type Stream = Awaited<ReturnType<typeof streamUnderTest>>;

describe('connecting', () => {
  let stream: Stream;
  beforeAll(async () => {
    stream = await streamUnderTest();
    await stream.allowOrigin('https://shop.example');
  });
  afterAll(() => stream.close());
  const codeFor = async (auth: object, origin?: string) =>
    (await StreamClient.refusal(stream.url(), auth, origin === undefined ? {} : { origin })).code;

  it('needs a valid token, and is refused with the reason before any event', async () => {
    const { accessToken } = stream.tokens;
    const expired = Math.floor(Date.now() / 1_000) - 60;
    const { privateKey } = await generateKeyPair('ES256');
    await stream.revokeSession('ses_ended');
    expect(await StreamClient.refusal(stream.url(), {})).toEqual({
      code: 'token_missing',
      title: 'A bearer token is required',
      detail:
        'connect with auth: {token}, an access token or a connection token; a token in the query or in a header is not read',
    });
    const unsigned = `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.e30.`;
    for (const [token, code] of [
      ['', 'token_missing'],
      ...[{ $gt: '' }, ['x'], 'x'.repeat(20_000), 'a.b.c', unsigned].map((wrong) => [wrong, 'token_invalid']),
      [await accessToken({ key: privateKey }), 'token_invalid'],
      [await accessToken({ header: { typ: 'rt+jwt' } }), 'token_invalid'],
      [await accessToken({ claims: { exp: expired } }), 'token_expired'],
      [await accessToken({ claims: { sid: 'ses_ended' } }), 'session_revoked'],
    ])
      expect({ token, code: await codeFor({ token }) }).toEqual({ token, code });
  });

  it('is refused from a foreign origin, whatever the token', async () => {
    const token = await stream.tokens.accessToken();
    expect(await codeFor({ token }, 'https://evil.example')).toBe('origin_not_allowed');
    expect(await codeFor({}, 'https://evil.example')).toBe('origin_not_allowed');
    expect(await codeFor({ token }, 'null')).toBe('origin_not_allowed');
    expect(await codeFor({}, 'https://shop.example')).toBe('token_missing');
  });

  it('is allowed without an origin and from an allowed one', async () => {
    const token = await stream.tokens.accessToken();
    for (const headers of [{}, { origin: 'https://shop.example' }])
      (await StreamClient.connect(stream.url(), token, headers)).close();
  });

  it("is allowed from the node's own address, which some clients outside browsers name", async () => {
    const token = await stream.tokens.accessToken();
    const { host } = new URL(stream.url());
    (await StreamClient.connect(stream.url(), token, { origin: stream.url() })).close();
    for (const origin of [`https://${host}`, 'http://127.0.0.1', 'http://localhost:3002'])
      expect(await codeFor({ token }, origin)).toBe('origin_not_allowed');
    await using named = await streamUnderTest({ environment: { STREAM_URL: 'https://Stream.example:443/at' } });
    const ownToken = await named.tokens.accessToken();
    (await StreamClient.connect(named.url(), ownToken, { origin: 'https://stream.example' })).close();
    const refused = await StreamClient.refusal(named.url(), { token: ownToken }, { origin: named.url() });
    expect(refused.code).toBe('origin_not_allowed');
  });

  it('is possible only to the namespace of events, and only over WebSocket', async () => {
    const token = await stream.tokens.accessToken();
    const socket = io(stream.url(), {
      transports: ['websocket'],
      auth: { token },
      forceNew: true,
      reconnection: false,
    });
    const error = await new Promise<Error & { data?: unknown }>((resolve) => socket.once('connect_error', resolve));
    socket.disconnect();
    expect(error.data).toMatchObject({ code: 'forbidden' });
    expect(error.message).toBe('connect to the namespace /events: append it to the address of the stream');
    const polling = await fetch(`${stream.url()}/socket.io/?EIO=4&transport=polling`);
    expect(polling.status).toBe(400);
    // Also a browser's page of another origin may read what to do.
    expect(polling.headers.get('access-control-allow-origin')).toBe('*');
    expect(problem.parse(await polling.json()).detail).toContain('transports: ["websocket"]');
  });
});

describe('the connections of a user', () => {
  it('are limited; a closed connection makes room for another', async () => {
    await using stream = await streamUnderTest({
      environment: { RATE_LIMITS: '{"connections":{"points":2,"seconds":1}}' },
    });
    const first = await stream.connect();
    await stream.connect();
    const refused = async () =>
      (await StreamClient.refusal(stream.url(), { token: await stream.tokens.accessToken() })).code;
    expect(await refused()).toBe('rate_limited');
    await stream.connect({ sub: 'usr_2' });
    first.close();
    await eventually(() => stream.connect(), 5_000, 'another connection must be possible after one was closed');
    expect(await refused()).toBe('rate_limited');
  });

  it('count before they are open', async () => {
    await using stream = await streamUnderTest({
      environment: { RATE_LIMITS: '{"connections":{"points":3,"seconds":1}}' },
    });
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => stream.connect()));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  });
});

describe('a connection in production', () => {
  const production = {
    NODE_ENV: 'production',
    RATE_LIMITS: '{}',
    MASTER_KEY: 'S1pGN3K3U3bQvWl2hVJgQy3rGtq0WfOnlbF5pBbWm0A=',
    CHAINS: '[{"chainId":1,"rpcUrls":["http://127.0.0.1:1"]}]',
  };
  const outcomeOver = async (TRUSTED_PROXIES: string, headers: Record<string, string>) => {
    await using stream = await streamUnderTest({ environment: { ...production, TRUSTED_PROXIES } });
    const token = await stream.tokens.accessToken();
    const connected = await StreamClient.connect(stream.url(), token, headers).catch(() => undefined);
    connected?.close();
    return connected ? 'connected' : (await StreamClient.refusal(stream.url(), { token }, headers)).code;
  };

  it('needs TLS, to the service itself or to a trusted proxy', async () => {
    const https = { 'x-forwarded-proto': 'https' };
    expect(await outcomeOver('', {})).toBe('https_required');
    expect(await outcomeOver('', https)).toBe('https_required');
    expect(await outcomeOver('10.0.0.0/8,::2', https)).toBe('https_required');
    expect(await outcomeOver('127.0.0.0/8', { 'x-forwarded-proto': 'http' })).toBe('https_required');
    expect(await outcomeOver('127.0.0.0/8', https)).toBe('connected');
    expect(await outcomeOver('127.0.0.1', https)).toBe('connected');
  });
});
