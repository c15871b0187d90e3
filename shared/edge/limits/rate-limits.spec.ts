import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rateLimits } from '../../../schemas/http/rate-limits.ts';
import { problemOfAnswer } from '../../testing/http/problem-of-answer.ts';
import { startThings } from '../../testing/http/things-service.ts';
import { addressKey, RateLimits } from './rate-limits.ts';

describe('rate limits', () => {
  let things: Awaited<ReturnType<typeof startThings>>;
  beforeAll(async () => {
    const RATE_LIMITS = JSON.stringify({ request: { points: 3, seconds: 60 } });
    things = await startThings({ environment: { RATE_LIMITS, TRUSTED_PROXIES: '127.0.0.1' } });
  });
  afterAll(() => things.service.close());

  const from = (ip: string) => things.ask('/things/one', { headers: { 'x-forwarded-for': ip } });

  it('show the remaining requests, and refuse further ones with the time to wait', async () => {
    const first = await from('192.0.2.1');
    expect(first.headers.get('ratelimit-policy')).toBe('"request";q=3;w=60');
    expect(first.headers.get('ratelimit')).toBe('"request";r=2;t=60');
    await from('192.0.2.1');
    await from('192.0.2.1');
    const refused = await from('192.0.2.1');
    const problem = await problemOfAnswer(refused);
    expect(problem.code).toBe('rate_limited');
    expect(problem.retryAfter).toBeGreaterThan(0);
    expect(refused.headers.get('ratelimit')).toMatch(/^"request";r=0;t=/);
    expect((await from('192.0.2.2')).status).toBe(200);
  });

  it('count a user at all addresses together, and invalid tokens by address', async () => {
    for (let count = 1; count <= 4; count += 1) {
      const answer = await things.post({ name: 'n' }, { 'x-forwarded-for': `198.51.100.${String(count)}` });
      expect(answer.status).toBe(count <= 3 ? 201 : 429);
    }
    for (let count = 1; count <= 4; count += 1) {
      const headers = { authorization: 'Bearer x', 'x-forwarded-for': '203.0.113.1' };
      const answer = await things.ask('/things', { method: 'POST', headers });
      expect(answer.status).toBe(count <= 3 ? 401 : 429);
    }
  });

  it('bound the bytes that the commands of a caller store in a day, and nobody else', async () => {
    const RATE_LIMITS = JSON.stringify({ storedBytes: { points: 4_000, seconds: 86_400 } });
    await using own = await startThings({ environment: { RATE_LIMITS } });
    const post = async (name: string, sub: string) =>
      own.post({ name }, { authorization: `Bearer ${await own.tokens.accessToken({ claims: { sub } })}` });
    // 1,000 bytes for each command, plus its body.
    expect((await post('n', 'usr_writer')).status).toBe(201);
    expect((await post('x'.repeat(200), 'usr_writer')).status).toBe(201);
    expect((await post('n', 'usr_writer')).status).toBe(201);
    const problem = await problemOfAnswer(await post('x'.repeat(200), 'usr_writer'));
    expect(problem).toMatchObject({ code: 'rate_limited', detail: expect.stringContaining('may store is used up') });
    expect(problem.retryAfter).toBeGreaterThan(80_000);
    expect((await post('n', 'usr_other')).status).toBe(201);
  });

  it('count no bytes of a repeat by Idempotency-Key, which stores nothing', async () => {
    const RATE_LIMITS = JSON.stringify({ storedBytes: { points: 5_000, seconds: 86_400 } });
    await using own = await startThings({ environment: { RATE_LIMITS } });
    const post = (key: string) => own.post({ name: 'n' }, { 'idempotency-key': key });
    for (let times = 0; times < 5; times += 1) expect((await post('one')).status).toBe(201);
    expect((await post('two')).status).toBe(201);
    expect((await problemOfAnswer(await post('three'))).code).toBe('rate_limited');
    expect((await post('two')).status).toBe(201);
  });

  it('count the answer that is kept for an idempotency key as bytes that are stored, and store no key beyond', async () => {
    const RATE_LIMITS = JSON.stringify({ storedBytes: { points: 6_000, seconds: 86_400 } });
    await using own = await startThings({ environment: { RATE_LIMITS } });
    const authorization = `Bearer ${await own.tokens.accessToken({ claims: { sub: 'usr_writer' } })}`;
    const post = async (key: string) =>
      (await own.post({ name: 'x'.repeat(200) }, { authorization, 'idempotency-key': key })).status;
    // Twice 1,000 bytes, the body, and the answer, which is sealed twice.
    expect([await post('a'), await post('b'), await post('c')]).toEqual([201, 201, 429]);
    const head = await own.foundation.eventStore.head();
    expect([await post('d'), await post('a')]).toEqual([429, 201]);
    expect(await own.foundation.eventStore.head()).toBe(head);
  });

  it('have the defaults and the names of section 9 of the interface', () => {
    const texts = Object.entries(rateLimits).map(
      ([name, limit]) =>
        `${name} ${String(limit.points)}${'seconds' in limit ? ` per ${String(limit.seconds)} s` : ''}`,
    );
    const expected = [
      'login 60 per 300 s',
      'refresh 150 per 300 s',
      'register 60 per 60 s',
      'query 50 per 1 s',
      'request 100 per 1 s',
      'streamCommand 50 per 1 s',
      'subscriptions 128',
      'connections 100',
      'address 300 per 1 s',
      'requestsPerConnection 8',
      'requestsPerAddress 256',
      'connectionsPerAddress 1000',
      'otpRequest 1 per 60 s',
      'otpRequestDay 10 per 86400 s',
      'otpRequestAll 50 per 86400 s',
      'otpRequestIp 30 per 3600 s',
      'storedBytes 25000000 per 86400 s',
      'send 10 per 1 s',
      'rpc 50 per 1 s',
      'simulatedGas 1000000000 per 60 s',
      'rpcApp 1000 per 1 s',
    ];
    expect(texts.toSorted()).toEqual(expected.toSorted());
  });

  it('count nothing when they are off', async () => {
    expect(await new RateLimits({ RATE_LIMITS: 'off' }).count('request', 'x')).toBeUndefined();
  });

  it('remember 50,000 callers', async () => {
    const limits = new RateLimits({ RATE_LIMITS: { request: { points: 1, seconds: 600 } } });
    await limits.count('request', 'first');
    expect((await limits.peek('request', 'first'))?.exceeded).toBe(true);
    for (let other = 0; other < 50_000; other += 1) await limits.count('request', `other ${String(other)}`);
    expect((await limits.peek('request', 'first'))?.exceeded).toBe(false);
  });

  it('count the addresses of an IPv6 /64 prefix as one caller', () => {
    const key = 'ip:2001:db8:0:1::/64';
    expect(addressKey('2001:db8:0:1::1')).toBe(key);
    expect(addressKey('2001:0DB8::1:ffff:ffff:ffff:ffff')).toBe(key);
    expect(addressKey('2001:db8:0:2::1')).not.toBe(key);
    expect(addressKey('::1')).toBe('ip:0:0:0:0::/64');
    expect(addressKey('fe80::1%eth0')).toBe('ip:fe80:0:0:0::/64');
    expect(addressKey('::ffff:192.0.2.1')).toBe('ip:192.0.2.1');
    expect(addressKey('192.0.2.1')).toBe('ip:192.0.2.1');
  });
});
