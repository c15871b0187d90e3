import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';
import { identityStream } from '../../../schemas/events/account/identity-events.ts';
import { publicKeys } from '../../../schemas/http/account/account-routes.ts';
import { historyPage } from '../../../schemas/http/account/history.ts';
import type { Session } from '../../../schemas/http/account/session.ts';
import { verifyExport } from '../../../shared/audit/verify-export.jose.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { exported as exportedByOperator, inPieces } from '../../../shared/testing/exported.ts';
import { usersModel } from '../../../shared/read-models/account/users.ts';
import { codeOf } from '../../../shared/testing/http/problem-of-answer.ts';
import { projectStored } from '../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { walletIdentity } from '../users/domain/identity.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../testing/account-under-test.ethers.ts';
import { bearer } from '../testing/sessions.ts';

const folder = temporaryFolder();
const line = z.object({ hash: z.string(), data: z.unknown(), salt: z.unknown() });

describe('erasing a user', () => {
  let account: AccountUnderTest;
  let keys: JSONWebKeySet;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
    keys = publicKeys.parse(await (await account.ask('/.well-known/jwks.json')).json());
  });
  afterAll(() => account.service.close());

  const ask = (session: Session, path: string, method = 'GET', body?: unknown, headers = {}) =>
    account.ask(path, { method, body, headers: { ...bearer(session), ...headers } });
  const exported = async (session: Session): Promise<string> => {
    await projectStored(account.foundation);
    const answer = await ask(session, `/user/${session.userId}/history/export`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    return answer.text();
  };
  const linesIn = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .slice(0, -1)
      .map((one) => line.parse(JSON.parse(one)));
  const storedText = async () => {
    const { events } = await account.foundation.eventStore.readAll(0, undefined, Infinity);
    return events.map(({ dataText, metadata }) => dataText + JSON.stringify(metadata)).join('\n');
  };
  const aUser = async () => {
    const wallet = account.newWallet();
    const session = await account.logIn(wallet);
    await ask(session, `/user/${session.userId}/profile`, 'POST', { username: 'Grace Brewster Hopper' });
    return { wallet, session };
  };

  it('leaves a history that is proven as before, and that nobody can read', async () => {
    const { session } = await aUser();
    const before = await exported(session);
    expect(before).toContain('Grace Brewster Hopper');
    expect(await verifyExport(inPieces(before), { jwks: keys })).toMatchObject({
      sub: session.userId,
      items: 5,
      erased: 0,
    });
    expect(await storedText()).not.toContain('Grace Brewster Hopper');

    expect((await ask(session, `/user/${session.userId}`, 'DELETE')).status).toBe(204);
    const after = await exportedByOperator(account.foundation, session.userId);
    expect(await verifyExport(inPieces(after), { jwks: keys })).toMatchObject({ items: 7, erased: 7 });
    expect(
      linesIn(after)
        .slice(0, 5)
        .map(({ hash }) => hash),
    ).toEqual(linesIn(before).map(({ hash }) => hash));
    expect(linesIn(after).every(({ data, salt }) => data === null && salt === null)).toBe(true);
    expect(await verifyExport(inPieces(before), { jwks: keys })).toMatchObject({ items: 5 });
  });

  it('takes the user from read models, and ends every session', async () => {
    const { wallet, session } = await aUser();
    const other = await account.logIn(wallet);
    const stranger = await account.logIn(account.newWallet());
    await ask(session, `/user/${session.userId}`, 'DELETE');
    await projectStored(account.foundation);
    account.clock.time += 1_999;
    for (const ended of [session, other]) {
      expect(await codeOf(await ask(ended, `/user/${ended.userId}`))).toBe('session_revoked');
      expect(await codeOf(await account.refresh(ended.refreshToken))).toBe('session_revoked');
    }
    expect(await codeOf(await ask(stranger, `/user/${session.userId}`))).toBe('user_erased');
    const documents = await account.foundation.readStore.find(usersModel.name, { filter: { id: session.userId } });
    expect(JSON.stringify(documents)).not.toContain('Grace');
  });

  it('lets the wallet begin anew, as another user', async () => {
    const { wallet, session } = await aUser();
    await ask(session, `/user/${session.userId}`, 'DELETE');
    const next = await account.logIn(wallet);
    expect(next.userId).toMatch(/^usr_/);
    const claims = await account.foundation.eventStore.read(identityStream(walletIdentity(wallet.address).identityId));
    expect(claims.map(({ type }) => type)).toEqual(['IdentityClaimed', 'IdentityReleased', 'IdentityClaimed']);
  });

  it('needs a login of the last five minutes, and nobody else', async () => {
    const { session } = await aUser();
    const stranger = await account.logIn(account.newWallet());
    expect(await codeOf(await ask(stranger, `/user/${session.userId}`, 'DELETE'))).toBe('forbidden');
    account.clock.time += 5 * 60_000 + 1;
    expect(await codeOf(await ask(session, `/user/${session.userId}`, 'DELETE'))).toBe('login_too_old');
    expect((await ask(session, `/user/${session.userId}/profile`, 'POST', {})).status).toBe(200);
  });

  it('is completed by another process after a crash, once it was decided', async () => {
    const { session } = await aUser();
    const { keyVault } = account.foundation;
    const destroy = keyVault.destroy.bind(keyVault);
    const refused = Promise.withResolvers<undefined>();
    keyVault.destroy = () => {
      refused.resolve(undefined);
      return Promise.reject(new Error('planned crash'));
    };
    expect(await codeOf(await ask(session, `/user/${session.userId}`, 'DELETE'))).toBe('internal_error');
    await refused.promise;
    keyVault.destroy = destroy;
    const isDestroyed = async () =>
      (await keyVault.get([`data-${session.userId}`])).get(`data-${session.userId}`)?.sealed === null;
    await eventually(isDestroyed, 20_000, 'the key must be destroyed');
  });

  it('keeps what repeats are answered from as unreadable as the rest', async () => {
    const { session } = await aUser();
    const key = { 'idempotency-key': 'the-same' };
    const path = `/user/${session.userId}/profile`;
    const answers = [
      await ask(session, path, 'POST', { firstname: 'Ada Byron' }, key),
      await ask(session, path, 'POST', { firstname: 'Ada Byron' }, key),
    ];
    expect(await answers[1]?.json()).toEqual(await answers[0]?.json());
    const { events } = await account.foundation.eventStore.readAll(0, { types: ['RequestAnswered'] }, Infinity);
    expect(events.at(-1)?.data['sealedAnswer']).toMatch(new RegExp(`^[\\w-]+\\.data-${session.userId}$`));
  });
});

describe('a user as it was', () => {
  let account: AccountUnderTest;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
  });
  afterAll(() => account.service.close());

  it('is folded up to a time, to the position of an item, or to an x-position', async () => {
    const { userId, accessToken } = await account.logIn(account.newWallet());
    const headers = bearer({ accessToken });
    const rename = async (username: string) => {
      account.clock.time += 1_000;
      return account.ask(`/user/${userId}/profile`, { method: 'POST', headers, body: { username } });
    };
    const first = await rename('first');
    const firstAt = account.clock.time;
    await rename('second');
    await projectStored(account.foundation);
    const nameAt = async (asOf: string | number) => {
      const answer = await account.ask(`/user/${userId}?asOf=${encodeURIComponent(asOf)}`, { headers });
      return answer.ok ? ((await answer.json()) as { username: string | null }).username : codeOf(answer);
    };
    const { items } = historyPage.parse(await (await account.ask(`/user/${userId}/history`, { headers })).json());
    expect(items.map(({ type }) => type)).toEqual([
      ...['UserRegistered', 'IdentityLinked', 'UserLoggedIn', 'SessionStarted', 'ProfileUpdated', 'ProfileUpdated'],
    ]);
    expect(items.at(-1)?.data).toEqual({ userId, changes: { username: 'second' } });
    expect(await nameAt(items.at(-1)?.position ?? '')).toBe('second');
    expect(await nameAt(items.at(-2)?.position ?? '')).toBe('first');
    const head = await account.foundation.eventStore.head();
    expect(await nameAt(head)).toBe('second');
    expect(await nameAt(head - 1)).toBe('first');
    expect(await nameAt(new Date(firstAt).toISOString())).toBe('first');
    expect(await nameAt(new Date(firstAt - 1).toISOString())).toBeNull();
    expect(await nameAt(first.headers.get('x-position') ?? '')).toBe('first');
    expect(await nameAt('2020-01-01T00:00:00Z')).toBe('user_not_found');
    expect(await nameAt(new Date(firstAt).toISOString().slice(0, 10))).toBe('user_not_found');
    for (const wrong of ['yesterday', '2026-13-01', head + 1, account.clock.time, '2199-01-01']) {
      expect(await nameAt(wrong)).toBe('validation_failed');
    }
    expect(await nameAt('')).toBe('validation_failed');
  });

  it('has the messenger fields that it claims, and is found by who claimed them first', async () => {
    const sessions = [await account.logIn(account.newWallet()), await account.logIn(account.newWallet())];
    const claim = async (session: Session, body: object) =>
      account.ask(`/user/${session.userId}/messenger`, { method: 'POST', headers: bearer(session), body });
    for (const session of sessions) {
      const answer = await claim(session, {
        ...{ messengerId: '4242', messengerUsername: ' ada ', messengerVerified: true },
        messengerAuthDate: '2026-01-02T04:04:05+01:00',
      });
      expect(await answer.json()).toMatchObject({
        ...{ messengerId: '4242', messengerUsername: 'ada', messengerVerified: false },
        messengerAuthDate: '2026-01-02T03:04:05.000Z',
      });
    }
    await projectStored(account.foundation);
    const [first, second] = sessions;
    if (!first || !second) throw new Error('two have logged in');
    const find = (messengerId: string) => account.ask(`/user/messenger/${messengerId}`, { headers: bearer(second) });
    expect(await (await find('4242')).json()).toEqual({
      ...{ id: first.userId, username: null, avatar: null },
      createdAt: expect.any(String),
    });
    expect(await codeOf(await find('4243'))).toBe('user_not_found');
    expect(await codeOf(await claim(second, { messengerUsername: 'x' }))).toBe('validation_failed');
    expect(await codeOf(await claim(second, { messengerId: ' ' }))).toBe('validation_failed');
    expect(await codeOf(await claim(first, { messengerId: '1', messengerAvatarUrl: 'ftp://x' }))).toBe(
      'validation_failed',
    );
    expect(await codeOf(await claim({ ...first, userId: second.userId }, { messengerId: '1' }))).toBe('forbidden');
  });
});
