import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { userStream } from '../../../../schemas/events/account/user-events.ts';
import type { Session } from '../../../../schemas/http/account/session.ts';
import { codeOf } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { ORIGIN, startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { bearer, sessionOf } from '../../testing/sessions.ts';
import { passkeyCalls } from '../../testing/passkey-calls.ts';
import { SoftwareAuthenticator } from '../../testing/software-authenticator.ts';
import { userFold } from '../../users/domain/user.ts';

const folder = temporaryFolder();
const WWW = 'https://www.app.example';

describe('a passkey of a user', () => {
  let account: AccountUnderTest;
  let calls: ReturnType<typeof passkeyCalls>;
  beforeAll(async () => {
    account = await startAccountUnderTest(folder);
    calls = passkeyCalls(account);
  });
  afterAll(() => account.service.close());

  const anAuthenticator = (origin = ORIGIN) => new SoftwareAuthenticator(origin);
  const identitiesOf = async ({ userId }: Session) =>
    (await account.transactor.load(userStream(userId), userFold)).state.entity?.identities ?? [];

  it('is linked with a bearer token, and excluded where the user makes another one', async () => {
    const session = await account.logIn(account.newWallet());
    const first = await calls.creation({ session });
    expect(Buffer.from(first.options.user.id, 'base64url').toString()).toBe(session.userId);
    const authenticator = anAuthenticator();
    const made = authenticator.create(first.options);
    const linked = await sessionOf(await calls.register(first.state, made, { session }));
    expect(linked.userId).toBe(session.userId);
    expect((await identitiesOf(session)).map(({ method }) => method)).toEqual(['wallet', 'passkey']);
    expect((await sessionOf(await calls.loggedIn(authenticator))).userId).toBe(session.userId);
    const { options } = await calls.creation({ session });
    expect(options.excludeCredentials).toEqual([
      { type: 'public-key', id: authenticator.credentialId, transports: ['internal'] },
    ]);
  });

  it('is shown by the user name where there is one', async () => {
    const session = await account.logIn(account.newWallet());
    await account.ask(`/user/${session.userId}/profile`, {
      method: 'POST',
      headers: bearer(session),
      body: { username: 'Ada' },
    });
    expect((await calls.creation({ session })).options.user).toMatchObject({ name: 'Ada', displayName: 'Ada' });
  });

  it('is linked by the session that began it, and by no other and nobody', async () => {
    const [own, other] = [await account.logIn(account.newWallet()), await account.logIn(account.newWallet())];
    const begun = await calls.creation({ session: own });
    const made = anAuthenticator().create(begun.options);
    for (const by of [{ session: other }, {}]) {
      expect(await codeOf(await calls.register(begun.state, made, by))).toBe('state_unknown');
    }
    expect((await calls.register(begun.state, made, { session: own })).status).toBe(201);
    const plain = await calls.creation();
    const answer = await calls.register(plain.state, anAuthenticator().create(plain.options), { session: own });
    expect(await codeOf(answer)).toBe('state_unknown');
  });

  it('needs a login of the last five minutes to be linked when it begins, and an app that is trusted', async () => {
    const session = await account.logIn(account.newWallet());
    account.clock.time += 5 * 60_000;
    const begun = await calls.creation({ session });
    account.clock.time += 1;
    expect(await codeOf(await calls.askToRegister({ session }))).toBe('login_too_old');
    const made = anAuthenticator().create(begun.options);
    expect((await calls.register(begun.state, made, { session })).status).toBe(201);
    const app = await account.register({ isThirdParty: true });
    const headers = account.appHeaders({}, app);
    const stranger = await calls.registered(anAuthenticator(), { headers });
    expect(await codeOf(await calls.askToRegister({ headers, session: stranger }))).toBe('forbidden');
  });

  it('logs its user in with a bearer token too, however old, and is not linked to another user', async () => {
    const authenticator = anAuthenticator();
    const session = await calls.registered(authenticator);
    account.clock.time += 6 * 60_000;
    expect((await sessionOf(await calls.loggedIn(authenticator, { session }))).userId).toBe(session.userId);
    const other = await account.logIn(account.newWallet());
    expect(await codeOf(await calls.loggedIn(authenticator, { session: other }))).toBe('identity_taken');
  });

  it('that is unlinked logs in nobody, makes no user, and is not registered again', async () => {
    const session = await account.logIn(account.newWallet());
    const authenticator = anAuthenticator();
    const linked = await calls.registered(authenticator, { session });
    const { id = '' } = (await identitiesOf(session)).find(({ method }) => method === 'passkey') ?? {};
    const path = `/user/${session.userId}/identities/${id}`;
    expect((await account.ask(path, { method: 'DELETE', headers: bearer(session) })).status).toBe(204);
    expect(await codeOf(await account.refresh(linked.refreshToken))).toBe('session_revoked');
    expect(await codeOf(await calls.loggedIn(authenticator))).toBe('passkey_invalid');
    const { state, options } = await calls.creation();
    expect(await codeOf(await calls.register(state, authenticator.create(options)))).toBe('passkey_invalid');
  });

  it("is for the app's RP id, where one is set, at its hostname and the subdomains", async () => {
    const app = await account.register({ origins: [ORIGIN, WWW, 'https://other.example'] });
    await account.apps.change(app.id, { rpId: 'app.example' });
    const by = (origin: string) => ({ headers: account.appHeaders({ origin }, app) });
    const authenticator = anAuthenticator(WWW);
    const { userId } = await calls.registered(authenticator, by(WWW));
    const { state, options } = await calls.request(by(ORIGIN));
    expect(options.rpId).toBe('app.example');
    const signed = authenticator.get(options, { origin: ORIGIN });
    expect((await sessionOf(await calls.logIn(state, signed, by(ORIGIN)))).userId).toBe(userId);
    for (const send of [calls.ask, calls.askToRegister]) {
      expect(await codeOf(await send(by('https://other.example')))).toBe('origin_not_allowed');
    }
  });
});
