import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { Session } from '../../../../schemas/http/account/account-routes.ts';
import { sessionList } from '../../../../schemas/http/account/session-routes.ts';
import { sessionStream } from '../../../../schemas/events/account/session-events.ts';
import { codeOf } from '../../../../shared/testing/http/problem-of-answer.ts';
import { projectStored } from '../../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { withoutAppendsTo } from '../../../../shared/testing/without-appends-to.ts';
import { endSessionsOf } from '../../session-administration.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { bearer, sessionOf } from '../../testing/sessions.ts';

const folder = temporaryFolder();
const DAY = 86_400_000;
const idOf = ({ accessToken }: Session) => String(decodeJwt(accessToken)['sid']);

describe('the sessions of a user', () => {
  let account: AccountUnderTest;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
  });
  afterAll(() => account.service.close());

  const ask = (session: Session, path: string, method = 'GET', headers: Record<string, string> = {}) =>
    account.ask(path, { method, headers: { ...bearer(session), ...headers } });
  const list = async (session: Session) => {
    await projectStored(account.foundation);
    const answer = await ask(session, '/auth/sessions');
    expect(answer.status).toBe(200);
    return sessionList.parse(await answer.json()).items;
  };
  const listedIds = async (session: Session) => (await list(session)).map(({ id }) => id);
  const isEnded = async (session: Session) => {
    account.clock.time += 1_999;
    const headers = bearer(session);
    const used = await account.ask(`/user/${session.userId}/profile`, { method: 'POST', headers, body: {} });
    const refreshed = await account.refresh(session.refreshToken);
    const outcomes = [used, refreshed].map(({ ok }) => ok);
    if (outcomes.every(Boolean)) return false;
    expect([await codeOf(used), await codeOf(refreshed)]).toEqual(['session_revoked', 'session_revoked']);
    return true;
  };

  it('are listed with what they began with, the last used first, and which one asks', async () => {
    const wallet = account.newWallet();
    const first = await account.logIn(wallet);
    const began = new Date(account.clock.time).toISOString();
    account.clock.time += 1_000;
    const second = await account.logIn(wallet);
    account.clock.time += 1_000;
    await account.logIn(account.newWallet());
    await account.refresh(first.refreshToken);
    const items = await list(second);
    expect(items.map(({ id, current }) => [id, current])).toEqual([
      [idOf(first), false],
      [idOf(second), true],
    ]);
    expect(items[0]).toEqual({
      id: idOf(first),
      app: account.app.id,
      method: 'wallet',
      device: 'node',
      createdAt: began,
      lastUsedAt: new Date(account.clock.time).toISOString(),
      current: false,
    });
  });

  it('are not listed once they ended or expired, or their app was revoked', async () => {
    const wallet = account.newWallet();
    const app = await account.register();
    const headers = account.appHeaders({}, app);
    const { message } = await account.challengeFor(wallet.address, headers);
    const atApp = await account.redeem(wallet.address, wallet.signMessageSync(message), headers);
    const idle = await account.logIn(wallet);
    expect(await listedIds(idle)).toHaveLength(2);
    await account.apps.change(app.id, { revoke: true });
    account.clock.time += 1_000;
    expect(atApp.status).toBe(201);
    expect(await listedIds(idle)).toEqual([idOf(idle)]);
    let busy = await account.logIn(wallet);
    const began = account.clock.time;
    for (let days = 6; days <= 24; days += 6) {
      account.clock.time = began + days * DAY;
      busy = await sessionOf(await account.refresh(busy.refreshToken));
    }
    expect(await listedIds(await account.logIn(wallet))).toContain(idOf(busy));
    account.clock.time = began + 30 * DAY;
    const last = await account.logIn(wallet);
    const listed = await listedIds(last);
    expect(listed).toContain(idOf(last));
    expect(listed).not.toContain(idOf(busy));
    expect(listed).not.toContain(idOf(idle));
  });

  it('end one by one, and an ended one can be ended again', async () => {
    const wallet = account.newWallet();
    const [mine, other] = [await account.logIn(wallet), await account.logIn(wallet)];
    for (let times = 0; times < 2; times += 1) {
      const answer = await ask(mine, `/auth/sessions/${idOf(other)}`, 'DELETE');
      expect([answer.status, await answer.text()]).toEqual([204, '']);
      expect(answer.headers.get('x-position')).not.toBeNull();
    }
    expect(await isEnded(other)).toBe(true);
    expect(await isEnded(mine)).toBe(false);
    expect(await listedIds(mine)).toEqual([idOf(mine)]);
    const events = await account.foundation.eventStore.read(sessionStream(idOf(other)));
    expect(events.map(({ type, data }) => [type, data['reason']])).toEqual([
      ['SessionStarted', undefined],
      ['SessionRevoked', 'ended_by_user'],
    ]);
  });

  it('of somebody else are not found, as those that do not exist', async () => {
    const [mine, theirs] = [await account.logIn(account.newWallet()), await account.logIn(account.newWallet())];
    for (const id of [idOf(theirs), 'ses_unknown']) {
      expect(await codeOf(await ask(mine, `/auth/sessions/${id}`, 'DELETE'))).toBe('session_not_found');
    }
    expect(await isEnded(theirs)).toBe(false);
    expect(await account.foundation.eventStore.read(sessionStream('ses_unknown'))).toEqual([]);
  });

  it('end all at once but the one that asks, a hundred of them too, and nobody else notices', async () => {
    const wallet = account.newWallet();
    const mine = await account.logIn(wallet);
    const others: Session[] = [];
    for (let at = 0; at < 100; at += 1) others.push(await account.logIn(wallet));
    const stranger = await account.logIn(account.newWallet());
    expect((await ask(mine, '/auth/sessions', 'DELETE')).status).toBe(204);
    expect(await listedIds(mine)).toEqual([idOf(mine)]);
    for (const other of [others[0], others[99]]) expect(other && (await isEnded(other))).toBe(true);
    for (const session of [mine, stranger]) expect(await isEnded(session)).toBe(false);
  });

  it('end by logging out, with an idempotency key too', async () => {
    const wallet = account.newWallet();
    for (const headers of [{}, { 'idempotency-key': 'bye' }] as Record<string, string>[]) {
      const session = await account.logIn(wallet);
      const answer = await ask(session, '/auth/logout', 'POST', headers);
      expect(answer.status).toBe(204);
      expect((await ask(session, '/auth/logout', 'POST', headers)).status).toBeLessThan(500);
      expect(await isEnded(session)).toBe(true);
      expect(await codeOf(await ask(session, '/auth/logout', 'POST', headers))).toBe('session_revoked');
    }
  });

  it('do not begin when they ended while their login was in flight', async () => {
    const wallet = account.newWallet();
    const mine = await account.logIn(wallet);
    const { message } = await account.challengeFor(wallet.address);
    const signature = wallet.signMessageSync(message);
    const crashed = await withoutAppendsTo('session-', account.foundation, () =>
      account.redeem(wallet.address, signature),
    );
    expect(await codeOf(crashed)).toBe('internal_error');
    expect((await ask(mine, '/auth/sessions', 'DELETE')).status).toBe(204);
    expect(await codeOf(await account.redeem(wallet.address, signature))).toBe('session_revoked');
    expect(await listedIds(mine)).toEqual([idOf(mine)]);
  });

  it('are all ended by an operator, and only those of this user, who may log in again', async () => {
    const wallet = account.newWallet();
    const [first, second] = [await account.logIn(wallet), await account.logIn(wallet)];
    const other = await account.logIn(account.newWallet());
    await endSessionsOf(first.userId, account.foundation);
    for (const session of [first, second]) expect(await isEnded(session)).toBe(true);
    expect(await isEnded(other)).toBe(false);
    const events = await account.foundation.eventStore.read(sessionStream(idOf(first)));
    expect(events.at(-1)).toMatchObject({
      type: 'SessionRevoked',
      data: { reason: 'ended_by_operator' },
      metadata: { actor: { type: 'admin' }, digest: expect.any(String) },
    });
    expect(await isEnded(await account.logIn(wallet))).toBe(false);
    await expect(endSessionsOf('usr_nobody', account.foundation)).rejects.toThrow('no user has the id usr_nobody');
  });
});
