import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../testing/eventually.ts';
import { problemOfAnswer } from '../../testing/http/problem-of-answer.ts';
import { rawConnection } from '../../testing/http/raw-http.ts';
import { heldCount, letGo, startThings } from '../../testing/http/things-service.ts';

const GET = 'GET /things/one HTTP/1.1\r\nhost: x\r\n\r\n';
const OTHER_ADDRESS = '127.0.0.2';
const hasOtherAddress = process.platform === 'linux' ? it : it.skip;

describe('the connections of a service', () => {
  let things: Awaited<ReturnType<typeof startThings>>;
  afterEach(() => things.service.close());

  const start = async (limits: Record<string, { points: number; seconds: number }> = {}, TRUSTED_PROXIES = '') => {
    things = await startThings({ environment: { RATE_LIMITS: JSON.stringify(limits), TRUSTED_PROXIES } });
    return things;
  };
  const statusesIn = (received: string) => Array.from(received.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => status);
  const serverOf = () => things.service.app.getHttpServer();
  const areHeld = (count: number) =>
    eventually(() => heldCount() === count, 2_000, `${String(count)} requests must be under way`);
  /** A connection on which a request was answered, and the server's end of it. */
  const usedConnection = async () => {
    const accepted = once(serverOf(), 'connection');
    const connection = rawConnection(things.service.url);
    const [socket] = (await accepted) as [Socket];
    connection.write(GET);
    await eventually(() => statusesIn(connection.received()).length === 1, 2_000, 'it must be answered');
    return { connection, socket };
  };

  it('have eight requests under way at most, and are closed after the ninth is refused', async () => {
    const { service } = await start();
    let asked = 0;
    serverOf().on('request', () => (asked += 1));
    const connection = rawConnection(service.url);
    connection.write(GET.replace('one', 'held').repeat(20));
    await eventually(() => asked === 20, 2_000, 'the requests must arrive');
    await areHeld(8);
    letGo();
    const received = await connection.answer;
    expect(statusesIn(received)).toEqual([...Array<string>(8).fill('200'), '429']);
    expect(received).toContain('"detail":"8 requests on one connection at a time are allowed"');
    expect((await things.ask('/things/one')).status).toBe(200);
  });

  it('are closed after a request that names two hosts', async () => {
    const { service } = await start();
    const connection = rawConnection(service.url);
    connection.write(GET.replace('host: x', 'host: x\r\nHost: y') + GET);
    const received = await connection.answer;
    expect(statusesIn(received)).toEqual(['400']);
    expect(received).toContain('"detail":"host: is there more than once"');
  });

  it.each([
    ['after the last request', GET.replace('host: x', 'host: x\r\nconnection: close')],
    ['after a request', GET],
    ['after a request whose answer takes a while', GET.replace('one', 'slow')],
  ])('have one answer to a request, and none to bytes that are no request %s', async (_, text) => {
    const { service } = await start();
    const connection = rawConnection(service.url);
    connection.write(`${text}no request\r\n\r\n`);
    expect(statusesIn(await connection.answer)).toEqual(['200']);
  });

  it('have an answer without a body to a HEAD request that cannot be read', async () => {
    const { service } = await start();
    const connection = rawConnection(service.url);
    connection.write(GET.replace('GET', 'HEAD').replace('one', 'x'.repeat(20_000)));
    expect(await connection.answer).toMatch(/^HTTP\/1\.1 400 [^]*\r\n\r\n$/);
  });

  it('may have any number one after the other', async () => {
    const { service } = await start();
    const connection = rawConnection(service.url);
    for (let asked = 1; asked <= 30; asked += 1) {
      connection.write(GET);
      await eventually(() => statusesIn(connection.received()).length === asked, 2_000, 'it must be answered');
    }
    connection.reset();
    expect(new Set(statusesIn(connection.received()))).toEqual(new Set(['200']));
  });

  it('say for how long they are kept without a request, so that no client sends one on a connection that is just closed', async () => {
    const { service } = await start();
    const connection = rawConnection(service.url);
    connection.write(GET);
    await eventually(() => statusesIn(connection.received()).length === 1, 10_000, 'it must be answered');
    connection.reset();
    expect(connection.received()).toMatch(/\r\nConnection: keep-alive\r\nKeep-Alive: timeout=72\r\n/i);
  });

  hasOtherAddress('are cut, and no more are taken, when an address sends very many requests at once', async () => {
    const { service } = await start({ address: { points: 300, seconds: 3_600 } });
    const idle = rawConnection(service.url, OTHER_ADDRESS);
    const flooding = rawConnection(service.url, OTHER_ADDRESS);
    flooding.write(GET.repeat(1_600));
    expect(statusesIn(await flooding.answer.catch(() => ''))).not.toContain('500');
    expect(await idle.answer.catch(() => '')).toBe('');
    const late = rawConnection(service.url, OTHER_ADDRESS);
    expect(await late.answer).toMatch(/^HTTP\/1\.1 429 [^]*retry-after: 1\r\n[^]*"code":"rate_limited"/);
    expect((await things.ask('/things/one')).status).toBe(200);
  });

  it('are only so many of an address', async () => {
    const { service } = await start({ connectionsPerAddress: { points: 2, seconds: 1 } });
    const first = [rawConnection(service.url), rawConnection(service.url)];
    await Promise.all(first.map(({ opened }) => opened));
    expect(await rawConnection(service.url).answer).toMatch(
      /^HTTP\/1\.1 429 [^]*"2 connections at a time are allowed"/,
    );
    for (const connection of first) connection.reset();
    await eventually(async () => (await things.ask('/things/one')).ok, 2_000, 'there must be room again');
  });

  it('are not counted by address when they are those of a proxy', async () => {
    const { service } = await start({ connectionsPerAddress: { points: 1, seconds: 1 } }, '127.0.0.0/8');
    const first = rawConnection(service.url);
    await first.opened;
    expect((await things.ask('/things/one')).status).toBe(200);
    first.reset();
  });

  it('have so many requests of one address under way', async () => {
    const { ask } = await start({ requestsPerAddress: { points: 2, seconds: 1 } });
    const statuses: number[] = [];
    const asking = Array.from({ length: 4 }, async () => {
      statuses.push((await ask('/things/held')).status);
    });
    await eventually(() => statuses.length === 2, 2_000, 'those that are too many must be refused');
    await areHeld(2);
    letGo();
    await Promise.all(asking);
    expect(statuses).toEqual([429, 429, 200, 200]);
    expect((await ask('/things/one')).status).toBe(200);
  });

  it('let an address ask again only when it has read enough of what it asked for', async () => {
    const { service, ask } = await start({ address: { points: 1_000, seconds: 1 } });
    const statusIs = async (status: number) => (await ask('/things/one')).status === status;
    const connection = rawConnection(service.url);
    connection.pause();
    connection.write(GET.replace('one', 'longest'));
    await eventually(() => statusIs(429), 10_000, '40 MiB must be too much to leave unread');
    connection.resume();
    await eventually(() => statusIs(200), 10_000, 'what was read must not count');
    connection.reset();
  });

  it('give back their places when they are closed with requests under way', async () => {
    const { service } = await start({ requestsPerAddress: { points: 4, seconds: 1 } });
    for (let round = 0; round < 5; round += 1) {
      const connection = rawConnection(service.url);
      connection.write(GET.replace('one', 'held').repeat(4));
      await areHeld(4);
      expect((await things.ask('/things/one')).status).toBe(429);
      connection.reset();
      await eventually(async () => (await things.ask('/things/one')).ok, 2_000, 'there must be room again');
      letGo();
    }
  });

  it('are cut when nothing is read from them', async () => {
    await start();
    expect(serverOf().timeout).toBe(30_000);
    const { connection, socket } = await usedConnection();
    connection.pause();
    serverOf().setTimeout(50);
    const closed = once(socket, 'close');
    connection.write(GET.replace('one', 'longest'));
    await closed;
    connection.reset();
  });

  it('wait longer for an answer that is known to take longer', async () => {
    await start();
    const { connection, socket } = await usedConnection();
    connection.write(GET.replace('things/one', 'slow-things'));
    await areHeld(1);
    expect(socket.timeout).toBe(30_000 + 10_000);
    letGo();
    await eventually(() => statusesIn(connection.received()).length === 2, 2_000, 'it must be answered');
    expect(connection.received()).toContain('{"waited":true}');
    connection.reset();
  });

  it('are closed when headers or a body come too slowly', async () => {
    const { service } = await start();
    expect(serverOf()).toMatchObject({ headersTimeout: 10_000, requestTimeout: 30_000 });
    Object.assign(serverOf(), { headersTimeout: 200, requestTimeout: 400 });
    for (const slow of [
      'GET /things/one HTTP/1.1\r\nhost:',
      'POST /things HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n',
    ]) {
      const connection = rawConnection(service.url);
      connection.write(slow);
      expect(await connection.answer).toMatch(/^HTTP\/1\.1 400 [^]*too slow/);
    }
  });

  it('answer an expectation that is not known with a problem document', async () => {
    const { service } = await start();
    const connection = rawConnection(service.url);
    connection.write(GET.replace('\r\n\r\n', '\r\nexpect: x\r\n\r\n'));
    const received = await connection.answer;
    expect(received).toMatch(/^HTTP\/1\.1 400 [^]*content-type: application\/problem\+json/);
    expect(received).toContain('"errors":[{"path":"expect"');
  });
});

describe('the requests of an address', () => {
  it('are counted whatever they ask for, and refused before their body is read', async () => {
    const RATE_LIMITS = JSON.stringify({ address: { points: 6, seconds: 600 } });
    await using things = await startThings({ environment: { RATE_LIMITS, TRUSTED_PROXIES: '127.0.0.1' } });
    const preflight = { origin: 'https://shop.example', 'access-control-request-method': 'POST' };
    const asked: [string, RequestInit][] = [
      ['/nothing', {}],
      ['/things/one', { method: 'DELETE' }],
      ['/things/one', { method: 'OPTIONS', headers: preflight }],
      ['/health/live', {}],
      ['/health/ready', {}],
      ['/things/%E0%A4%A', {}],
      ['/things', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"nested' }],
    ];
    for (const [index, [path, init]] of asked.entries()) {
      const answer = await things.ask(path, init);
      expect(answer.headers.get('ratelimit')).toMatch(`"address";r=${String(Math.max(0, 5 - index))};`);
      expect(answer.headers.get('ratelimit-policy')).toBe('"address";q=6;w=600');
      expect([path, answer.status === 429]).toEqual([path, index === 6]);
    }
    for (const path of ['/things/one', '/nothing', '/health/live', '/things/%E0%A4%A']) {
      expect((await problemOfAnswer(await things.ask(path))).code).toBe('rate_limited');
    }
    const other = await things.ask('/health/live', { headers: { 'x-forwarded-for': '192.0.2.1' } });
    expect(other.status).toBe(200);
    expect(things.foundation.logged.filter(({ level }) => level === 40)).toHaveLength(1);
  });
});
