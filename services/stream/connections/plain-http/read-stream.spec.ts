import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { aRecord, CHAIN_ID, newContract } from '../../testing/fake-catcher.ts';
import {
  askPage,
  EventStreamClient,
  readPage,
  refusalOfPage,
  streamAddress,
} from '../../testing/http-stream-client.ts';
import { streamUnderTest } from '../../testing/stream-under-test.module.ts';

type Stream = Awaited<ReturnType<typeof streamUnderTest>>;

/** A node with a contract that has events in these blocks, and what a client sends to read them. */
const withEvents = async (stream: Stream, blocks: readonly number[]) => {
  const contractAddress = await stream.registerContract();
  for (const block of blocks) await stream.catcher.observe(aRecord({ contractAddress, block }));
  const headers = { authorization: `Bearer ${await stream.tokens.accessToken()}` };
  const url = stream.url();
  return {
    contractAddress,
    headers,
    page: (query: Record<string, string> = {}) => readPage(url, { contractAddress, headers, query }),
    open: (query: Record<string, string> = {}, more: Record<string, string> = {}) =>
      EventStreamClient.open(url, { contractAddress, headers: { ...headers, ...more }, query }),
    observe: (block: number) => stream.catcher.observe(aRecord({ contractAddress, block })),
  };
};

describe('server-sent events', () => {
  let stream: Stream;
  beforeAll(async () => {
    stream = await streamUnderTest();
  });
  afterAll(() => stream.close());

  it('begin with the history that is asked for, and go on live, as the socket sends them', async () => {
    const channel = await withEvents(stream, [1, 2, 3]);
    const client = await channel.open({ fromBlock: '2' });
    expect(client.headers.get('content-type')).toBe('text/event-stream');
    await client.waitForMessage('live');
    await channel.observe(4);
    const events = await client.waitForEvents(3);
    expect(events.map(({ event }) => event.BlockNumber)).toEqual([2, 3, 4]);
    expect(client.blocks.find(({ name }) => name === 'event')?.id).toBe(events[0]?.cursor);
    const socket = await stream.connect();
    await socket.subscribe(channel.contractAddress, { fromBlock: 2 });
    expect(await socket.waitForEvents(3)).toEqual(events);
    client.close();
  });

  it('are answered at once to HEAD, with the headers of GET and its refusals, and leave no connection', async () => {
    await using own = await streamUnderTest();
    const { contractAddress, headers } = await withEvents(own, [1]);
    const ask = async (method: string, address: string) => {
      const asked = { contractAddress: address, query: { fromBlock: '0' } };
      const init = { method, headers: { ...headers, accept: 'text/event-stream' } };
      const answer = await fetch(streamAddress(own.url(), asked), init);
      const shown = [answer.status, answer.headers.get('content-type'), answer.headers.get('x-accel-buffering')];
      if (method === 'HEAD') expect(await answer.text()).toBe('');
      else await answer.body?.cancel();
      return shown;
    };
    for (const address of [contractAddress, newContract()])
      expect(await ask('HEAD', address)).toEqual(await ask('GET', address));
    await own.waitForConnections(0);
  });

  it('resume after Last-Event-ID, which wins over cursor and fromBlock, and from where they began before any event', async () => {
    const channel = await withEvents(stream, []);
    const first = await channel.open();
    const begun = await eventually(() => first.lastEventId, 5_000, 'the client must be told where it begins');
    first.close();
    await channel.observe(2);
    await channel.observe(3);
    const second = await channel.open({ fromBlock: '0' }, { 'last-event-id': begun });
    expect((await second.waitForEvents(2)).map(({ event }) => event.BlockNumber)).toEqual([2, 3]);
    const { cursor = '' } = second.messages('event')[0] ?? {};
    second.close();
    const third = await channel.open({ cursor: begun }, { 'last-event-id': cursor });
    expect((await third.waitForEvents(1)).map(({ event }) => event.BlockNumber)).toEqual([3]);
    third.close();
  });

  it('tell of a watch that is paused from the beginning, and end when it is removed', async () => {
    const channel = await withEvents(stream, []);
    const { contractAddress } = channel;
    const watchId = await stream.catcher.register(contractAddress);
    await stream.catcher.changeWatch('WatchPaused', { watchId, contractAddress, reason: 'operator' });
    const client = await channel.open();
    const { state, lastError } = await client.waitForMessage('state');
    expect([state, lastError]).toEqual(['paused', 'the operator paused this registration']);
    await stream.catcher.changeWatch('WatchRemoved', { watchId, contractAddress, appId: 'app_1' });
    await client.waitForEnd();
    expect(client.messages('stopped')).toMatchObject([{ code: 'watch_not_found' }]);
  });

  it('end when the session does, and leave nothing behind when the client goes', async () => {
    const channel = await withEvents(stream, []);
    const before = stream.connections();
    const authorization = `Bearer ${await stream.tokens.accessToken({ claims: { sid: 'ses_revoked' } })}`;
    const client = await channel.open({}, { authorization });
    await stream.waitForConnections(before + 1);
    await stream.revokeSession('ses_revoked');
    await client.waitForEnd();
    expect(client.messages('stopped')).toMatchObject([{ code: 'session_revoked' }]);
    const other = await channel.open();
    await stream.waitForConnections(before + 1);
    other.close();
    await stream.waitForConnections(before);
  });

  it('leave nothing behind of clients that go before they are answered', async () => {
    await using own = await streamUnderTest();
    const channel = await withEvents(own, [1]);
    const { hostname, port, pathname, search } = streamAddress(own.url(), {
      contractAddress: channel.contractAddress,
    });
    const fields = { host: hostname, accept: 'text/event-stream', ...channel.headers };
    const lines = Object.entries(fields).map((field) => field.join(': '));
    const text = [`GET ${pathname}${search}&fromBlock=0 HTTP/1.1`, ...lines, '', ''].join('\r\n');
    // A store on another machine takes a while, in which a client may go.
    const { readStore } = own.foundation;
    const getMany = readStore.getMany.bind(readStore);
    readStore.getMany = async (...asked) => {
      for (let tick = 0; tick < 5; tick += 1) await setImmediate();
      return getMany(...asked);
    };
    for (let client = 0; client < 40; client += 1) {
      const socket = connect(Number(port), hostname);
      await once(socket, 'connect');
      socket.write(text);
      for (let tick = 0; tick < client % 20; tick += 1) await setImmediate();
      socket.resetAndDestroy();
    }
    await own.waitForConnections(0);
  });

  it('tell when the node stops, and when to connect again', async () => {
    await using stopping = await streamUnderTest();
    const channel = await withEvents(stopping, [1]);
    const client = await channel.open({ fromBlock: '0' });
    await client.waitForMessage('live');
    const waiting = channel.page({ wait: '30' });
    await stopping.waitForConnections(2);
    await stopping.stopNode();
    await client.waitForEnd();
    const draining = client.blocks.find(({ name }) => name === 'draining');
    expect(draining?.retry).toBe(String(client.messages('draining')[0]?.reconnectAfterMs));
    expect(await waiting).toMatchObject({ items: [] });
  });
});

describe('pages', () => {
  let stream: Stream;
  beforeAll(async () => {
    stream = await streamUnderTest();
  });
  afterAll(() => stream.close());

  it('have the history, then what came since, and say when there is nothing more', async () => {
    const channel = await withEvents(stream, [1, 2, 3]);
    const first = await channel.page({ fromBlock: '0', take: '2' });
    expect(first).toMatchObject({ live: false, gap: null });
    const second = await channel.page({ cursor: first.cursor, take: '2' });
    expect([...first.items, ...second.items].map(({ event }) => event.BlockNumber)).toEqual([1, 2, 3]);
    expect(second.live).toBe(true);
    const empty = await channel.page({ cursor: second.cursor });
    expect(empty).toEqual({ items: [], cursor: second.cursor, live: true, gap: null });
    await channel.observe(4);
    const third = await channel.page({ cursor: empty.cursor });
    expect(third.items.map(({ event }) => event.BlockNumber)).toEqual([4]);
    expect(third.cursor).toBe(third.items[0]?.cursor);
  });

  it('from now on are empty, and wait for what comes if asked to', async () => {
    const channel = await withEvents(stream, [1]);
    const now = await channel.page();
    expect(now).toMatchObject({ items: [], live: true });
    const before = stream.connections();
    const waiting = channel.page({ cursor: now.cursor, wait: '30' });
    await stream.waitForConnections(before + 1);
    await channel.observe(2);
    expect((await waiting).items.map(({ event }) => event.BlockNumber)).toEqual([2]);
    await stream.waitForConnections(before);
    const started = performance.now();
    expect((await channel.page({ wait: '1' })).items).toEqual([]);
    expect(performance.now() - started).toBeGreaterThanOrEqual(990);
  });

  it('that are full and were asked for by a cursor never change, and may be kept', async () => {
    const { contractAddress, headers, page } = await withEvents(stream, [1]);
    const { cursor } = await page();
    for (const block of [2, 3, 4]) await stream.catcher.observe(aRecord({ contractAddress, block }));
    const asked = { contractAddress, headers, query: { cursor, take: '2' } };
    const answer = await askPage(stream.url(), asked);
    expect(answer.headers.get('cache-control')).toBe('private, max-age=31536000, immutable');
    const etag = answer.headers.get('etag') ?? '';
    const repeated = await askPage(stream.url(), { ...asked, headers: { ...headers, 'if-none-match': etag } });
    expect([repeated.status, await repeated.text()]).toEqual([304, '']);
    for (const query of [
      { cursor, take: '10' },
      { fromBlock: '0', take: '2' },
    ]) {
      const kept = await askPage(stream.url(), { contractAddress, headers, query });
      expect([kept.headers.get('etag'), kept.headers.get('cache-control')]).toEqual([null, 'no-store']);
    }
  });

  it('are refused with what is wrong', async () => {
    const { contractAddress, headers } = await withEvents(stream, []);
    const refused = (query: Record<string, string>, more: object = {}) =>
      refusalOfPage(stream.url(), { contractAddress, headers: { ...headers, ...more }, query });
    for (const query of [
      ...[{ take: '0' }, { take: '1001' }, { wait: '31' }, { wait: '0' }, { chainId: 'x' }, { finality: 'soon' }],
      ...[{ fromBlock: '-1' }, { fromBlock: '0x1' }, { curser: 'a' }, { contractAddress: '0x12' }],
      ...[{ cursor: 'a'.repeat(101) }, { eventSignature: '' }],
    ])
      expect([query, ...(await refused(query))]).toEqual([query, 400, 'validation_failed']);
    const { cursor } = await readPage(stream.url(), { contractAddress, headers });
    expect(await refused({ cursor, fromBlock: '1' })).toEqual([400, 'validation_failed']);
    expect(await refused({ cursor: 'forged' })).toEqual([400, 'cursor_invalid']);
    expect(await refused({}, { accept: 'text/event-stream', 'last-event-id': 'forged' })).toEqual([
      400,
      'cursor_invalid',
    ]);
    expect(await refused({ eventSignature: 'Approval' })).toEqual([404, 'watch_not_found']);
  });
});

describe('who may read over plain HTTP', () => {
  const ALLOWED = 'https://shop.example';
  let stream: Stream;
  beforeAll(async () => {
    stream = await streamUnderTest();
    await stream.allowOrigin(ALLOWED);
  });
  afterAll(() => stream.close());

  it('whoever has a token, in the header or in the address, which is logged nowhere', async () => {
    const { contractAddress, headers } = await withEvents(stream, [1]);
    const token = await stream.tokens.accessToken();
    const inAddress = { contractAddress, query: { access_token: token } };
    expect((await askPage(stream.url(), inAddress)).status).toBe(200);
    expect(await refusalOfPage(stream.url(), { contractAddress })).toEqual([401, 'token_missing']);
    for (const access_token of ['x', 'a.b.c', `${token}x`]) {
      const refused = await refusalOfPage(stream.url(), { contractAddress, query: { access_token } });
      expect(refused).toEqual([401, 'token_invalid']);
    }
    expect(await refusalOfPage(stream.url(), { contractAddress, headers: { authorization: 'Basic eA==' } })).toEqual([
      401,
      'token_missing',
    ]);
    expect((await askPage(stream.url(), { contractAddress, headers })).status).toBe(200);
    const logged = JSON.stringify(stream.logged);
    expect(logged).toContain('/api/v1/stream');
    expect(logged).not.toContain(token);
  });

  it('only pages of allowed origins, and others learn nothing about a token', async () => {
    const { contractAddress, headers } = await withEvents(stream, [1]);
    const ask = (origin: string | undefined, token: object, accept: string) =>
      askPage(stream.url(), {
        contractAddress,
        headers: { ...token, accept, ...(origin !== undefined && { origin }) },
      });
    const foreign = [
      ...[
        'null',
        'https://evil.example',
        `${ALLOWED}.evil.example`,
        'https://evil-shop.example',
        'http://shop.example',
      ],
      ...[`${ALLOWED}:8443`, 'https://SHOP.example', 'https://xn--shp-zna.example', 'https://93.184.216.34'],
      ...['http://127.0.0.1', 'http://localhost:3002', 'file://'],
    ];
    for (const accept of ['application/json', 'text/event-stream']) {
      for (const origin of foreign)
        for (const token of [headers, { authorization: 'Bearer x' }, {}]) {
          const answer = await ask(origin, token, accept);
          const body = (await answer.json()) as { code: string };
          expect([origin, answer.status, body.code]).toEqual([origin, 403, 'origin_not_allowed']);
          expect(answer.headers.get('access-control-allow-origin')).toBeNull();
        }
      for (const origin of [undefined, ALLOWED, new URL(stream.url()).origin]) {
        const answer = await ask(origin, headers, accept);
        expect([origin, answer.status]).toEqual([origin, 200]);
        const told = origin === ALLOWED ? ALLOWED : null;
        expect(answer.headers.get('access-control-allow-origin')).toBe(told);
        await answer.body?.cancel();
      }
      expect((await ask(ALLOWED, {}, accept)).status).toBe(401);
    }
  });

  it('everybody on a public chain, where all get the same, which every cache may keep', async () => {
    const CHAINS = JSON.stringify([{ chainId: CHAIN_ID, rpcUrls: ['http://127.0.0.1:1'], public: true }]);
    await using open = await streamUnderTest({ environment: { CHAINS } });
    const { contractAddress, headers } = await withEvents(open, [1]);
    const { cursor } = await readPage(open.url(), { contractAddress });
    await open.catcher.observe(aRecord({ contractAddress, block: 2 }));
    const asked = { contractAddress, query: { cursor, take: '1' } };
    const answer = await askPage(open.url(), asked);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const own = await askPage(open.url(), { ...asked, headers });
    expect(await own.json()).toEqual(await answer.json());
    expect(await refusalOfPage(open.url(), { ...asked, headers: { authorization: 'Bearer x' } })).toEqual([
      401,
      'token_invalid',
    ]);
    const client = await EventStreamClient.open(open.url(), { contractAddress, query: { fromBlock: '0' } });
    await client.waitForEvents(2);
    client.close();
  });
});

describe('the limits', () => {
  it('count a request that lasts as a connection of its caller, and refused ones as logins of the address', async () => {
    const RATE_LIMITS = '{"connections":{"points":2,"seconds":1},"login":{"points":3,"seconds":86400}}';
    await using stream = await streamUnderTest({ environment: { RATE_LIMITS } });
    const channel = await withEvents(stream, []);
    const clients = [await channel.open(), await channel.open()];
    await expect(channel.open()).rejects.toThrow('rate_limited');
    await expect(channel.page()).rejects.toThrow('rate_limited');
    for (const client of clients) client.close();
    await eventually(() => channel.page().catch(() => undefined), 5_000, 'there must be room again');
    const { contractAddress } = channel;
    const codes: string[] = [];
    for (let asked = 0; asked < 4; asked += 1) codes.push((await refusalOfPage(stream.url(), { contractAddress }))[1]);
    expect(codes).toEqual(['token_missing', 'token_missing', 'token_missing', 'rate_limited']);
  });
});
