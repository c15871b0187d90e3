import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Wallet } from 'ethers';
import { decodeJwt } from 'jose';
import type { Session } from '../../../../schemas/http/account/account-routes.ts';
import type { HistoryPage } from '../../../../schemas/http/account/history.ts';
import type { SessionList } from '../../../../schemas/http/account/session-routes.ts';
import { codeOrStatus } from '../../../../shared/testing/http/problem-of-answer.ts';
import { projectStored } from '../../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import type { RegisteredApp } from '../register-app/register-app.handler.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { bearer } from '../../testing/sessions.ts';

const folder = temporaryFolder();

describe("a session of somebody else's app", () => {
  let account: AccountUnderTest;
  let theirs: RegisteredApp;
  /** One person, signed in at the operator's own app and at somebody else's. */
  let wallet: Wallet;
  let own: Session;
  let other: Session;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
    theirs = await account.register({ isThirdParty: true });
    wallet = account.newWallet();
    own = await logInAt(account.app);
    other = await logInAt(theirs);
  });
  afterAll(() => account.service.close());

  const logInAt = (app: RegisteredApp) => account.logIn(wallet, { by: app });
  const ask = async (path: string, session: Session, method = 'GET', body?: unknown) => {
    // A query waits for what its caller wrote.
    await projectStored(account.foundation);
    return account.ask(path, {
      method,
      headers: bearer(session),
      ...(body !== undefined && { body }),
    });
  };
  const sidOf = ({ accessToken }: Session) => String(decodeJwt(accessToken)['sid']);
  const link = async (session: Session) => {
    const added = account.newWallet();
    const { message } = await account.challengeFor(added.address);
    const headers = { ...account.appHeaders(), ...bearer(session) };
    return account.redeem(added.address, added.signMessageSync(message), headers);
  };

  it('reads and changes the profile', async () => {
    const path = `/user/${other.userId}`;
    expect(await (await ask(path, other)).json()).toMatchObject({ id: other.userId, identities: [expect.anything()] });
    expect((await ask(`${path}/profile`, other, 'POST', { firstname: 'Ada' })).status).toBe(200);
  });

  it('links, unlinks and erases nothing', async () => {
    const events = await account.foundation.eventStore.read(`user-${other.userId}`);
    expect(await codeOrStatus(await link(other))).toBe('forbidden');
    const { identities } = (await (await ask(`/user/${other.userId}`, own)).json()) as { identities: { id: string }[] };
    const path = `/user/${other.userId}`;
    expect(await codeOrStatus(await ask(`${path}/identities/${identities[0]?.id ?? ''}`, other, 'DELETE'))).toBe(
      'forbidden',
    );
    expect(await codeOrStatus(await ask(path, other, 'DELETE'))).toBe('forbidden');
    expect(await account.foundation.eventStore.read(`user-${other.userId}`)).toHaveLength(events.length);
  });

  it('sees and ends sessions of that app alone', async () => {
    const { items } = (await (await ask('/auth/sessions', other)).json()) as SessionList;
    expect(items.map(({ id, app }) => [id, app])).toEqual([[sidOf(other), theirs.id]]);
    expect(((await (await ask('/auth/sessions', own)).json()) as SessionList).items).toHaveLength(2);
    expect(await codeOrStatus(await ask(`/auth/sessions/${sidOf(own)}`, other, 'DELETE'))).toBe('forbidden');
    expect(await codeOrStatus(await ask('/auth/sessions', other, 'DELETE'))).toBe('forbidden');
    expect((await ask('/auth/sessions', own)).status).toBe(200);
    const second = await logInAt(theirs);
    expect(await codeOrStatus(await ask(`/auth/sessions/${sidOf(second)}`, other, 'DELETE'))).toBe(204);
  });

  it('reads what came through that app of the history, and exports nothing', async () => {
    const path = `/user/${other.userId}/history`;
    const { items } = (await (await ask(`${path}?take=100`, other)).json()) as HistoryPage;
    expect(items.map(({ type }) => type)).toContain('UserLoggedIn');
    expect(new Set(items.map(({ app }) => app))).toEqual(new Set([theirs.id]));
    const all = (await (await ask(`${path}?take=100`, own)).json()) as HistoryPage;
    expect(new Set(all.items.map(({ app }) => app))).toEqual(new Set([account.app.id, theirs.id]));
    expect(await codeOrStatus(await ask(`${path}/export`, other))).toBe('forbidden');
  });

  it('may do all of it within two seconds of being trusted, and no more once the app is distrusted', async () => {
    const app = await account.register({ isThirdParty: true });
    const session = await logInAt(app);
    expect(await codeOrStatus(await link(session))).toBe('forbidden');
    await account.apps.change(app.id, { trust: true });
    account.clock.time += 1_999;
    expect(await codeOrStatus(await link(session))).toBe(201);
    await account.apps.change(app.id, { trust: false });
    account.clock.time += 1_999;
    expect(await codeOrStatus(await link(session))).toBe('forbidden');
  });
});
