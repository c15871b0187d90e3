import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { EventPage } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { EventRecord } from '../../../schemas/http/event-catcher/event-record.ts';
import type { MemoryReadStore } from '../../../shared/testing/engines/read-store.memory.ts';
import { ANSWER_WITHIN_MS } from '../../../shared/edge/server/request-deadline.ts';
import { freezeTimers } from '../../../shared/testing/http/frozen-timers.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { rawConnection } from '../../../shared/testing/http/raw-http.ts';
import { TOKEN, transferRecord } from '../testing/routes/catcher-fixtures.ts';
import { codeOf } from '../../../shared/testing/http/problem-of-answer.ts';
import { serveCatcherRoutes, startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

const NDJSON = 'application/x-ndjson';
const CSV = 'text/csv';
/** More than are written at a time. */
const RECORDS = 180;
const LARGE = 'x'.repeat(100_000);
const PATH = `/api/v1/events?chainId=2484&contractAddress=${TOKEN}`;

/** Starts the routes with records, three of which are reverted. */
const startWithRecords = async (): Promise<CatcherRoutes> => {
  const catcher = await startCatcherRoutes();
  await catcher.register();
  await catcher.documents.project();
  const records = Array.from({ length: RECORDS }, (_, at) =>
    transferRecord({
      BlockNumber: 10 + Math.floor(at / 3),
      LogIndex: at,
      Data: { from: TOKEN, to: TOKEN, value: String(at % 7), note: `"${String(at)}", =1\r\n;` },
    }),
  );
  await catcher.documents.observe(records, ({ BlockNumber }) => BlockNumber === 20);
  await catcher.documents.advance({ finalized: 30 });
  return catcher;
};

describe('an export', () => {
  let catcher: CatcherRoutes;
  let whole: Pick<MemoryReadStore, 'search' | 'getFound'>;
  beforeAll(async () => {
    catcher = await startWithRecords();
    const { search, getFound } = catcher.foundation.readStore;
    whole = { search, getFound };
  });
  beforeEach(() => {
    Object.assign(catcher.foundation.readStore, whole);
  });
  afterAll(() => catcher.service.close());

  const ask = (accept: string, query = '', signal?: AbortSignal) =>
    catcher.ask(PATH + query, { headers: { accept }, ...(signal && { signal }) });
  const lines = async (answer: Response) => (await answer.text()).split('\n').filter((line) => line !== '');
  const all = async (query = ''): Promise<EventRecord[]> =>
    ((await (await ask('application/json', `&take=1000${query}`)).json()) as EventPage).items;

  it.each(['', '&order=desc', '&status=reverted', '&arg.value=3', '&fromBlock=15&toBlock=40', '&arg.value=9'])(
    'has everything that matches %j, whatever the page',
    async (query) => {
      const expected = await all(query);
      const ndjson = await ask(NDJSON, `${query}&take=2&skip=1`);
      expect([ndjson.status, ndjson.headers.get('content-type')]).toEqual([200, NDJSON]);
      expect((await lines(ndjson)).map((line) => JSON.parse(line) as unknown)).toEqual(expected);
      const csv = await ask(CSV, query);
      expect([csv.status, csv.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8; header=present']);
      const [head = [], ...rows] = parseCsv(await csv.text());
      const records = rows.map((row) => Object.fromEntries(row.map((field, at) => [head[at] ?? '', field])));
      const asText = expected.map((record) => ({ ...record, Data: JSON.stringify(record.Data) }));
      expect(records.map(({ Data = '', ...rest }) => ({ ...rest, Data: JSON.stringify(JSON.parse(Data)) }))).toEqual(
        asText.map((record) =>
          Object.fromEntries(Object.entries(record).map(([name, value]) => [name, String(value)])),
        ),
      );
    },
  );

  it('goes on after what one search finds, in both orders', async () => {
    const contractAddress = `0x${'1'.repeat(40)}`;
    await catcher.register({ contractAddress });
    await catcher.documents.project();
    const many = Array.from({ length: 4_100 }, (_, at) =>
      transferRecord({ ContractAddress: contractAddress, BlockNumber: 10 + Math.floor(at / 7), LogIndex: at % 7 }),
    );
    await catcher.documents.observe(many, () => false);
    for (const order of ['asc', 'desc']) {
      const path = PATH.replace(TOKEN, contractAddress);
      const answer = await catcher.ask(`${path}&order=${order}`, { headers: { accept: NDJSON } });
      const ids = (await lines(answer)).map((line) => (JSON.parse(line) as EventRecord).Id);
      expect(ids).toEqual((order === 'asc' ? many : many.toReversed()).map(({ Id }) => Id));
    }
  });

  it('begins after a cursor', async () => {
    const { next } = (await (await ask('application/json', '&take=100')).json()) as EventPage;
    const ids = (await lines(await ask(NDJSON, `&cursor=${String(next)}`))).map(
      (line) => (JSON.parse(line) as EventRecord).Id,
    );
    expect(ids).toEqual((await all()).slice(100).map(({ Id }) => Id));
  });

  it('is refused as a page is', async () => {
    for (const accept of [NDJSON, CSV]) {
      expect(await codeOf(ask(accept, '&cursor=x'))).toBe('cursor_invalid');
      expect(await codeOf(ask(accept, '&take=0'))).toBe('validation_failed');
      expect(await codeOf(ask(accept, '&arg.value=x'))).toBe('validation_failed');
      const elsewhere = PATH.replace(TOKEN, `0x${'2'.repeat(40)}`);
      expect(await codeOf(catcher.ask(elsewhere, { headers: { accept } }))).toBe('watch_not_found');
    }
  });

  it('that fails before its first chunk is a problem, and after it is cut, without the last chunk', async () => {
    const { readStore, logged } = catcher.foundation;
    const token = await catcher.tokens.accessToken();
    const failAfter = (reads: number) => {
      let left = reads;
      readStore.getFound = (...asked) => {
        left -= 1;
        return left < 0 ? Promise.reject(new Error('the disk is gone')) : whole.getFound(...asked);
      };
    };
    const raw = async (accept: string) => {
      const connection = rawConnection(catcher.service.url);
      const headers = `host: x\r\nconnection: close\r\naccept: ${accept}\r\nauthorization: Bearer ${token}`;
      connection.write(`GET ${PATH} HTTP/1.1\r\n${headers}\r\n\r\n`);
      return connection.answer;
    };
    for (const accept of [NDJSON, CSV]) {
      failAfter(1);
      const cut = await raw(accept);
      expect(cut).toMatch(/^HTTP\/1\.1 200 /);
      expect(cut).toContain('Transfer');
      expect(cut).not.toMatch(/\r\n0\r\n\r\n$/);
      failAfter(Infinity);
      expect(await raw(accept)).toMatch(/\r\n0\r\n\r\n$/);
    }
    failAfter(0);
    expect(await codeOf(ask(NDJSON))).toBe('internal_error');
    expect(logged.filter(({ msg }) => msg === 'an answer was cut')).toHaveLength(2);
  });

  it('sends its headers within 5 s, also before anything is found', async () => {
    // Frozen timers would hold up the loops of a catcher that other tests use, too.
    await using own = await startWithRecords();
    const { foundation, tokens } = own;
    const search = foundation.readStore.search.bind(foundation.readStore);
    const [asked, found] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    foundation.readStore.search = async (...searched) => {
      asked.resolve(undefined);
      await found.promise;
      return search(...searched);
    };
    const { service } = await serveCatcherRoutes({ ...foundation, answerWithinMs: ANSWER_WITHIN_MS }, tokens.issuer);
    freezeTimers();
    try {
      const authorization = `Bearer ${await tokens.accessToken({ claims: { app: 'app_1' } })}`;
      const answering = fetch(service.url + PATH, { headers: { accept: NDJSON, authorization } });
      await asked.promise;
      jest.advanceTimersByTime(ANSWER_WITHIN_MS);
      const answer = await answering;
      expect(answer.status).toBe(200);
      found.resolve(undefined);
      expect(await lines(answer)).toHaveLength(RECORDS - 3);
    } finally {
      jest.useRealTimers();
      await service.close();
    }
  });

  it('ends when its caller goes away', async () => {
    const { readStore, logged } = catcher.foundation;
    const before = logged.length;
    const budgets: { signal: AbortSignal }[] = [];
    readStore.search = (_collection, _search, budget) => {
      budgets.push(budget);
      return new Promise(() => undefined);
    };
    const leaving = new AbortController();
    const answer = ask(CSV, '', leaving.signal);
    await eventually(() => budgets.length > 0, 5_000, 'the search must have begun');
    leaving.abort();
    await answer.then((given) => given.text()).catch(() => undefined);
    await eventually(() => budgets[0]?.signal.aborted === true, 5_000, 'the search must end');
    expect(logged.slice(before).filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });
});

describe('an export that its caller does not read', () => {
  it('is not written on until it is read, and then complete', async () => {
    await using catcher = await startCatcherRoutes();
    await catcher.register();
    await catcher.documents.project();
    const records = Array.from({ length: 400 }, (_, LogIndex) => transferRecord({ LogIndex, Data: { note: LARGE } }));
    await catcher.documents.observe(records, () => false);
    const { mock } = jest.spyOn(catcher.foundation.readStore, 'getFound');
    const reads = () => mock.calls.length;
    const token = await catcher.tokens.accessToken();
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request(catcher.service.url + PATH, { headers: { accept: NDJSON, authorization: `Bearer ${token}` } }, resolve)
        .once('error', reject)
        .end();
    });
    for (let before = -1; before !== reads();) {
      before = reads();
      for (let at = 0; at < 20; at += 1) await catcher.ask('/health/live');
    }
    // Eight at first, then one at a time.
    expect(reads()).toBeLessThan(300);
    expect((await text(answer)).length).toBeGreaterThan(400 * LARGE.length);
    expect(reads()).toBe(1 + 392);
  });
});

/** Rows of fields, by RFC 4180. */
const parseCsv = (written: string): string[][] => {
  expect(written.endsWith('\r\n')).toBe(true);
  const rows: string[][] = [[]];
  for (const [, quoted, plain, end] of written.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
    if (end !== ',') rows.push([]);
  }
  rows.pop();
  return rows;
};
