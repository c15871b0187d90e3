import { request, type IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { rateLimits } from '../../../../schemas/http/rate-limits.ts';
import { problem } from '../../../../schemas/http/problem.ts';
import { TestClock } from '../../../../shared/testing/test-foundation.ts';
import { connectPacket, RawSocket } from '../../testing/raw-socket.ts';
import { StreamClient } from '../../testing/stream-client.socketio.ts';
import { streamUnderTest } from '../../testing/stream-under-test.module.ts';

const limited = (limits: object) =>
  streamUnderTest({ environment: { RATE_LIMITS: JSON.stringify(limits) }, clock: new TestClock(Date.now()) });
const DAY = 86_400;
/** The default limits, but over a time in which the slowest client exceeds them. */
const byTheDay = { address: { ...rateLimits.address, seconds: DAY } };

/** Asks for a WebSocket, and must be refused. @returns status, headers and problem of the answer */
const refusedUpgrade = async (url: string) => {
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(`${url}/socket.io/?EIO=4&transport=websocket`, { headers })
      .on('response', resolve)
      .on('upgrade', () => {
        reject(new Error('the upgrade was not refused'));
      })
      .on('error', reject)
      .end();
  });
  const text = (await answer.toArray()).map(String).join('');
  return { status: answer.statusCode, headers: answer.headers, problem: problem.parse(JSON.parse(text)) };
};

describe('a socket', () => {
  it.each([
    ['after it was refused', '/events'],
    ['to the root namespace', '/'],
    ['to a namespace that does not exist', '/nothing'],
  ])('connects once: %s it is closed', async (_, namespace) => {
    await using stream = await streamUnderTest();
    const raw = await RawSocket.open(stream.url());
    raw.send(connectPacket('x', namespace));
    await raw.waitForClose(5_000);
    expect(raw.received.filter((text) => text.startsWith('44'))).toHaveLength(1);
  });

  it('is cut at its second CONNECT packet, whether or not the first is decided', async () => {
    await using stream = await streamUnderTest();
    const many = await RawSocket.open(stream.url());
    for (let sent = 0; sent < 5_000; sent += 1) many.send(connectPacket('x'));
    expect(await many.waitForClose()).toMatchObject({ code: 1008, reason: 'a socket sends one CONNECT packet' });
    expect(many.received.filter((text) => text.startsWith('44')).length).toBeLessThanOrEqual(1);
    const joined = await RawSocket.connected(stream.url(), await stream.tokens.accessToken());
    joined.send(connectPacket(await stream.tokens.accessToken()));
    expect(await joined.waitForClose()).toMatchObject({ code: 1008 });
    expect(stream.connections()).toBe(0);
  });
});

describe('refused connections', () => {
  it('count as logins of the address, of whichever namespace; who has a valid token is let in', async () => {
    await using stream = await limited({ login: { points: 4, seconds: DAY } });
    const refusal = () => StreamClient.refusal(stream.url(), { token: 'x' });
    expect(await refusal()).toMatchObject({ code: 'token_invalid' });
    for (const namespace of ['/', '/nothing']) {
      const raw = await RawSocket.open(stream.url());
      raw.send(connectPacket('x', namespace));
      await raw.waitForClose();
    }
    expect(await refusal()).toMatchObject({ code: 'token_invalid' });
    expect(await refusal()).toMatchObject({ code: 'rate_limited', retryAfter: DAY });
    await stream.connect();
  });

  it('are counted by the address that a trusted proxy names', async () => {
    const RATE_LIMITS = JSON.stringify({ login: { points: 1, seconds: DAY } });
    await using stream = await streamUnderTest({ environment: { RATE_LIMITS, TRUSTED_PROXIES: '127.0.0.1' } });
    const codeFrom = async (address: string) =>
      (await StreamClient.refusal(stream.url(), {}, { 'x-forwarded-for': `203.0.113.9, ${address}` })).code;
    expect(await codeFrom('192.0.2.1')).toBe('token_missing');
    expect(await codeFrom('192.0.2.1')).toBe('rate_limited');
    expect(await codeFrom('192.0.2.2')).toBe('token_missing');
  });
});

describe('the sockets of an address', () => {
  it('are refused before they are opened when it asks too often', async () => {
    await using stream = await limited({ address: { points: 200, seconds: DAY } });
    const opened = await Promise.allSettled(Array.from({ length: 200 }, () => RawSocket.open(stream.url())));
    const sockets = opened.flatMap((socket) => (socket.status === 'fulfilled' ? [socket.value] : []));
    expect(sockets.length).toBeGreaterThan(0);
    const { status, headers, problem } = await refusedUpgrade(stream.url());
    expect({ status, code: problem.code }).toEqual({ status: 429, code: 'rate_limited' });
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    for (const socket of sockets) socket.close();
  });

  it('are refused before they are opened when too many have not connected', async () => {
    const requestsPerAddress = { points: 16, seconds: 1 };
    await using stream = await limited({ address: { points: 10_000, seconds: 1 }, requestsPerAddress });
    const sockets = await Promise.all(Array.from({ length: 16 }, () => RawSocket.open(stream.url())));
    expect(await refusedUpgrade(stream.url())).toMatchObject({
      status: 429,
      problem: {
        code: 'rate_limited',
        detail: '16 sockets of an address that have not connected at a time are allowed',
      },
    });
    sockets[0]?.send(connectPacket(await stream.tokens.accessToken()));
    await stream.waitForConnections(1);
    await stream.connect();
    for (const socket of sockets) socket.close();
  });
});

describe('a client that floods', () => {
  it.each([
    ['events that are no command', '42/events,["nothing",1]'],
    ['commands', '42/events,7["unsubscribe",{"subscriptionId":"none"}]'],
    ['acknowledgements that nobody asked for', '43/events,1[]'],
    ['answers to pings that nobody sent', '3'],
  ])('with %s is cut, and told why', async (_, packet) => {
    await using stream = await limited(byTheDay);
    const raw = await RawSocket.connected(stream.url(), await stream.tokens.accessToken());
    const other = await stream.connect({ sub: 'usr_2' });
    for (let sent = 0; sent < 20_000; sent += 1) raw.send(packet);
    const reason = `rate_limited: 300 packets per ${String(DAY)} s are allowed`;
    expect(await raw.waitForClose()).toEqual({ code: 1008, reason });
    expect(await other.refused('unsubscribe', { subscriptionId: 'x' })).toMatchObject({
      code: 'subscription_not_found',
    });
  });

  it('with binary packets is cut', async () => {
    await using stream = await limited(byTheDay);
    const raw = await RawSocket.connected(stream.url(), await stream.tokens.accessToken());
    for (let sent = 0; sent < 1_000; sent += 1) {
      raw.send('451-/events,["nothing",{"_placeholder":true,"num":0}]');
      raw.send(new Uint8Array([1, 2, 3]));
    }
    expect(await raw.waitForClose()).toMatchObject({ code: 1008 });
  });

  it('with pings of the WebSocket protocol is cut', async () => {
    await using stream = await limited(byTheDay);
    const client = await stream.connect();
    for (let sent = 0; sent < 1_000; sent += 1) client.sendPing();
    await client.waitForDisconnect(5_000);
  });

  it('with events that are no command spends the commands of its user', async () => {
    await using stream = await limited({ streamCommand: { points: 3, seconds: DAY } });
    const raw = await RawSocket.connected(stream.url(), await stream.tokens.accessToken());
    const other = await stream.connect();
    for (let sent = 0; sent < 4; sent += 1) raw.send('42/events,["nothing",1]');
    expect(await raw.waitForClose()).toEqual({
      code: 1008,
      reason: `rate_limited: 3 per ${String(DAY)} s are allowed`,
    });
    expect((await other.refused('unsubscribe', { subscriptionId: 'x' })).code).toBe('rate_limited');
  });
});
