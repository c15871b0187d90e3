import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { Session } from '../../../../schemas/http/account/account-routes.ts';
import { historyPage, type HistoryPage } from '../../../../schemas/http/account/history.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';
import { codeOf } from '../../../../shared/testing/http/problem-of-answer.ts';
import { projectStored } from '../../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import type { RegisteredApp } from '../../apps/register-app/register-app.handler.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { bearer } from '../../testing/sessions.ts';

const folder = temporaryFolder();
const HOUR = 3_600_000;
const sidOf = ({ accessToken }: Session) => String(decodeJwt(accessToken)['sid']);

describe('a filtered history', () => {
  let account: AccountUnderTest;
  let theirs: RegisteredApp;
  /** One person, who renamed herself every two hours: at the operator's app, at another's, and at the first again. */
  let own: Session;
  let other: Session;
  let all: HistoryPage['items'];
  const times: string[] = [];
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
    theirs = await account.register({ isThirdParty: true });
    const wallet = account.newWallet();
    for (const [at, by] of [account.app, theirs, account.app].entries()) {
      account.clock.time += 2 * HOUR;
      own = await account.logIn(wallet, { by });
      const options = { method: 'POST', headers: bearer(own), body: { username: `name ${String(at)}` } };
      await account.ask(`/user/${own.userId}/profile`, options);
      times.push(toIso(account.clock.time));
    }
    other = await account.logIn(wallet, { by: theirs });
    await projectStored(account.foundation);
    all = await itemsOf('');
  });
  afterAll(() => account.service.close());

  const ask = (query: string, { session = own, take = 100 } = {}) =>
    account.ask(`/user/${session.userId}/history?take=${String(take)}${query}`, { headers: bearer(session) });
  const page = async (query: string, take = 100) => historyPage.parse(await (await ask(query, { take })).json());
  const itemsOf = async (query: string) => (await page(query)).items;
  const where = (has: (item: HistoryPage['items'][number]) => boolean) => all.filter(has);
  const first = () => times[0] ?? '';
  const second = () => times[1] ?? '';
  const third = () => times[2] ?? '';

  it('has the items from a time on, up to a time, or between two, both inclusive', async () => {
    expect(await itemsOf(`&from=${second()}`)).toEqual(where(({ time }) => time >= second()));
    expect(await itemsOf(`&to=${second()}`)).toEqual(where(({ time }) => time <= second()));
    const between = await itemsOf(`&from=${second()}&to=${second()}`);
    expect(between).toEqual(where(({ time }) => time === second()));
    expect(between).not.toEqual([]);
    const later = toIso(Date.parse(first()) + 1);
    expect(await itemsOf(`&from=${later}&to=${later}`)).toEqual([]);
    expect(await itemsOf('&from=2000-01-01&to=9999-12-31T23:59:59Z')).toEqual(all);
    expect(await itemsOf('&to=9999-12-31T23:59-12:00')).toEqual(all);
    expect(await itemsOf('&from=9999-12-31T23:59-12:00')).toEqual([]);
    expect(await itemsOf('&to=0000-01-01T00:00%2B12:00')).toEqual([]);
    expect(await itemsOf(`&from=${third().replace('Z', '%2B00:00')}`)).toEqual(where(({ time }) => time >= third()));
  });

  it('has the items of an app, of a session, of a type, and of all of these', async () => {
    expect(await itemsOf(`&app=${theirs.id}`)).toEqual(where(({ app }) => app === theirs.id));
    const ofSession = where(({ session }) => session === sidOf(own));
    expect(await itemsOf(`&session=${sidOf(own)}`)).toEqual(ofSession);
    expect(ofSession.map(({ type }) => type)).toEqual(['UserLoggedIn', 'SessionStarted', 'ProfileUpdated']);
    expect(await itemsOf(`&app=${account.app.id}&session=${sidOf(own)}&type=ProfileUpdated`)).toEqual(
      ofSession.slice(-1),
    );
    expect(await itemsOf(`&app=${theirs.id}&session=${sidOf(own)}`)).toEqual([]);
    expect(await itemsOf(`&app=${theirs.id}&type=UserLoggedIn&to=${second()}`)).toHaveLength(1);
    expect(await itemsOf('&session=ses_none')).toEqual([]);
  });

  it('has the newest first, if asked', async () => {
    expect(await itemsOf('&order=desc')).toEqual(all.toReversed());
    expect(await itemsOf(`&order=desc&type=ProfileUpdated&to=${second()}`)).toEqual(
      where(({ type, time }) => type === 'ProfileUpdated' && time <= second()).toReversed(),
    );
  });

  it.each(['', '&order=desc', '&type=ProfileUpdated', '&order=desc&type=ProfileUpdated'])(
    'is read page by page: %s',
    async (filters) => {
      const query = `${filters}&from=${first()}&to=${third()}`;
      const whole = await itemsOf(query);
      const items: HistoryPage['items'] = [];
      for (let [read, pages] = [await page(query, 2), 1]; ; pages += 1) {
        items.push(...read.items);
        if (read.next === null) break;
        expect(pages).toBeLessThan(100);
        read = await page(`${query}&cursor=${read.next}`, 2);
      }
      expect(items).toEqual(whole);
    },
  );

  it('has cursors that are for the same filters, order and user alone', async () => {
    const stranger = await account.logIn(account.newWallet());
    await projectStored(account.foundation);
    const queries = ['', '&order=desc', '&from=2020-01-01', '&type=UserLoggedIn', `&app=${account.app.id}`];
    for (const query of queries) {
      const cursor = `&cursor=${(await page(query, 1)).next ?? ''}`;
      expect((await ask(query + cursor, { take: 2 })).status).toBe(200);
      for (const others of queries.filter((one) => one !== query))
        expect(await codeOf(await ask(others + cursor))).toBe('cursor_invalid');
      expect(await codeOf(await ask(query + cursor, { session: stranger }))).toBe('cursor_invalid');
    }
  });

  it.each(['from=yesterday', 'to=12', 'from=2026-13-01', 'order=newest', 'app=', 'from=2026-01-02&to=2026-01-01'])(
    'refuses %s',
    async (query) => {
      expect(await codeOf(await ask(`&${query}`))).toBe('validation_failed');
    },
  );

  it("is, for a session of a third party's app, of that app alone", async () => {
    expect(await codeOf(await ask(`&app=${account.app.id}`, { session: other }))).toBe('forbidden');
    const answer = await ask(`&app=${theirs.id}`, { session: other });
    expect(historyPage.parse(await answer.json()).items).toEqual(where(({ app }) => app === theirs.id));
  });

  it('looks for a range among few items, however many there are', async () => {
    const { readStore } = account.foundation;
    const find = readStore.find.bind(readStore);
    const filters: unknown[] = [];
    readStore.find = (collection, options) => {
      if (collection.startsWith('history')) filters.push(options.filter?.['sequence']);
      return find(collection, options);
    };
    await itemsOf(`&from=${second()}&to=${second()}`);
    readStore.find = find;
    const before = all.findLastIndex(({ time }) => time < second());
    const after = all.findIndex(({ time }) => time > second());
    expect(filters.at(-1)).toEqual({ gt: before, lt: after });
  });
});
