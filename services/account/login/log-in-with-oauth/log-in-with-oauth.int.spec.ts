import { createHash } from 'node:crypto';
import { userStream } from '../../../../schemas/events/account/user-events.ts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { StartedLogin } from '../../../../schemas/http/account/oauth-routes.ts';
import type { Session } from '../../../../schemas/http/account/session.ts';
import { Browser } from '../../../../shared/client/browser.ts';
import { sha256 } from '../../../../shared/primitives/ids.ts';
import { codeOf, problemOfAnswer } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { withoutAppendsTo } from '../../../../shared/testing/without-appends-to.ts';
import { userFold } from '../../users/domain/user.ts';
import type { RegisteredApp } from '../../apps/register-app/register-app.handler.ts';
import { ORIGIN, startAccountUnderTest, type AccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { expectOneLoginOfAThousand } from '../../testing/one-of-a-thousand.ts';
import { startOpenIdProvider } from '../../testing/openid-provider/running-openid-provider.ts';
import { bearer, sessionOf } from '../../testing/sessions.ts';

const REDIRECT_URI = `${ORIGIN}/callback`;
const folder = temporaryFolder();

describe('logging in with an OpenID provider', () => {
  let provider: Awaited<ReturnType<typeof startOpenIdProvider>>;
  let account: AccountUnderTest;
  let app: RegisteredApp;
  beforeAll(async () => {
    provider = await startOpenIdProvider({ redirectUri: REDIRECT_URI });
    const settings = JSON.stringify(provider.settings);
    account = await startAccountUnderTest(folder, { OAUTH_A: settings, OAUTH_B: settings });
    app = await account.register({ redirectUris: [REDIRECT_URI] });
  });
  afterAll(async () => {
    await account.service.close();
    await provider.stop();
  });

  const headers = (session?: Session, by = app) => ({
    ...account.appHeaders({}, by),
    ...(session && bearer(session)),
  });
  const start = (session?: Session, path = '/auth/oauth-a') => account.ask(path, { headers: headers(session) });
  const started = async (session?: Session): Promise<StartedLogin> => {
    const answer = await start(session);
    expect(answer.status).toBe(200);
    return (await answer.json()) as StartedLogin;
  };
  const callback = (body: object, session?: Session, path = '/auth/oauth-a/callback', by = app) =>
    account.ask(path, { method: 'POST', headers: headers(session, by), body });
  /** Logs in at the provider's own page, and returns what it puts into the address of the app. */
  const comeBack = async (url: string, login: string) => {
    const address = await new Browser().logIn(url, { login, password: 'any' }, REDIRECT_URI);
    return Object.fromEntries(address.searchParams) as { code: string; state: string; iss: string };
  };
  const logIn = async (login: string, session?: Session): Promise<Response> => {
    const { url } = await started(session);
    return callback(await comeBack(url, login), session);
  };
  const userEvents = async (userId: string) => account.foundation.eventStore.read(`user-${userId}`);

  it('makes a user of the person, whose identity is issuer and subject and whose label is the address', async () => {
    const first = await sessionOf(await logIn('ada'));
    expect(first.userId).toMatch(/^usr_/);
    expect(decodeJwt(first.accessToken)).toMatchObject({ amr: ['oauth-a'], app: app.id });
    const { state: user } = await account.transactor.load(userStream(first.userId), userFold);
    expect(user.entity).toMatchObject({
      firstname: 'ada',
      avatar: 'https://pictures.example.org/ada.png',
      identities: [{ method: 'oauth-a', label: 'ada@example.org' }],
    });
    expect((await sessionOf(await logIn('ada'))).userId).toBe(first.userId);
    expect((await sessionOf(await logIn('grace'))).userId).not.toBe(first.userId);
  });

  /** Logs in as an app on a phone does, which asks the provider by itself. */
  const idTokenOf = async (login: string, nonce: string): Promise<string> => {
    const client = { client_id: `${provider.settings.clientId}-app`, redirect_uri: REDIRECT_URI };
    const verifier = 'v'.repeat(43);
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const asked = { ...client, response_type: 'code', scope: 'openid', nonce, state: 's' };
    const query = new URLSearchParams({ ...asked, code_challenge: challenge, code_challenge_method: 'S256' });
    const { code } = await comeBack(`${provider.issuer}/auth?${query.toString()}`, login);
    const grant = { ...client, grant_type: 'authorization_code', code, code_verifier: verifier };
    const answer = await fetch(`${provider.issuer}/token`, { method: 'POST', body: new URLSearchParams(grant) });
    return ((await answer.json()) as { id_token: string }).id_token;
  };

  it('is the same person in an app on a phone, by the id token that it was given', async () => {
    const first = await sessionOf(await logIn('phone'));
    const idToken = await idTokenOf('phone', 'a nonce');
    const post = (nonce: string) => callback({ idToken, nonce }, undefined, '/auth/oauth-a/token');
    expect(await codeOf(await post('another'))).toBe('oauth_failed');
    const session = await sessionOf(await post('a nonce'));
    expect(session.userId).toBe(first.userId);
    expect(decodeJwt(session.accessToken)).toMatchObject({ amr: ['oauth-a'] });
    expect(await codeOf(await post('a nonce'))).toBe('request_replayed');
  });

  it('is the same person under another name of the same provider', async () => {
    const first = await sessionOf(await logIn('ada'));
    const { url } = (await (await start(undefined, '/auth/oauth-b')).json()) as StartedLogin;
    const answer = await callback(await comeBack(url, 'ada'), undefined, '/auth/oauth-b/callback');
    expect((await sessionOf(answer)).userId).toBe(first.userId);
  });

  it('sends the browser away with PKCE, a nonce and a state that only a hash of is stored', async () => {
    const { url, state, expiresAt } = await started();
    const asked = Object.fromEntries(new URL(url).searchParams);
    expect(asked).toMatchObject({
      response_type: 'code',
      client_id: provider.settings.clientId,
      redirect_uri: REDIRECT_URI,
      scope: 'openid email profile',
      code_challenge_method: 'S256',
      state,
    });
    expect(asked['code_challenge']).toMatch(/^[\w-]{43}$/);
    expect(asked['nonce']).toMatch(/^\w{26}$/);
    expect(state).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(Date.parse(expiresAt)).toBe(account.clock.now() + 600_000);
    const stored = JSON.stringify(await account.foundation.eventStore.read(`state-${sha256(state)}`));
    expect(stored).toContain('LoginStarted');
    for (const secret of [state, asked['nonce'] ?? '', asked['code_challenge'] ?? '']) {
      expect(stored).not.toContain(secret);
    }
  });

  it('can be completed again after a crash by the same code, which the provider exchanges once', async () => {
    for (const failing of ['identity-', 'user-', 'session-']) {
      const back = await comeBack((await started()).url, `crash-${failing}`);
      const crashed = await withoutAppendsTo(failing, account.foundation, () => callback(back));
      expect(await codeOf(crashed)).toBe('internal_error');
      expect(await codeOf(await callback({ ...back, code: 'another' }))).toBe('state_unknown');
      const { userId } = await sessionOf(await callback(back));
      expect((await userEvents(userId)).map(({ type }) => type)).toEqual([
        'UserRegistered',
        'IdentityLinked',
        'UserLoggedIn',
        'ProfileUpdated',
      ]);
      expect(await codeOf(await callback(back))).toBe('state_unknown');
    }
  });

  it('is redeemed by one of a thousand requests with the same state and code', async () => {
    const back = await comeBack((await started()).url, 'parallel');
    await expectOneLoginOfAThousand(account, () => callback(back), 'state_unknown');
  });

  it('is answered the same again to a request that is repeated with its idempotency key', async () => {
    const back = await comeBack((await started()).url, 'ada');
    const key = { 'idempotency-key': 'again' };
    const ask = () =>
      account.ask('/auth/oauth-a/callback', { method: 'POST', headers: { ...headers(), ...key }, body: back });
    const first = await sessionOf(await ask());
    expect(await sessionOf(await ask())).toEqual(first);
  });

  it('links what it proves to the user of the session that started it', async () => {
    const session = await account.logIn(account.newWallet());
    const linked = await sessionOf(await logIn('linus', session));
    expect(linked.userId).toBe(session.userId);
    expect((await sessionOf(await logIn('linus'))).userId).toBe(session.userId);
    const other = await account.logIn(account.newWallet());
    expect(await codeOf(await logIn('linus', other))).toBe('identity_taken');
    expect((await sessionOf(await logIn('linus', session))).userId).toBe(session.userId);
  });

  it('needs a recent login when it starts, and not when it comes back', async () => {
    const session = await account.logIn(account.newWallet());
    const { url } = await started(session);
    account.clock.time += 301_000;
    expect(await codeOf(await start(session))).toBe('login_too_old');
    expect((await sessionOf(await callback(await comeBack(url, 'late'), session))).userId).toBe(session.userId);
  });

  it('links nothing where its app is distrusted meanwhile, and uses up nothing', async () => {
    const mine = await account.logIn(account.newWallet());
    const linking = await comeBack((await started(mine)).url, 'distrusted');
    await account.apps.change(account.app.id, { trust: false });
    account.clock.time += 1_999;
    expect(await codeOf(await callback(linking, mine))).toBe('forbidden');
    await account.apps.change(account.app.id, { trust: true });
    account.clock.time += 1_999;
    expect((await sessionOf(await callback(linking, mine))).userId).toBe(mine.userId);
  });

  it('is refused to whoever did not start it, and stays open for who did', async () => {
    const [mine, theirs] = [await account.logIn(account.newWallet()), await account.logIn(account.newWallet())];
    const sibling = await account.register({ redirectUris: [REDIRECT_URI] });
    const both = await account.register({ origins: [ORIGIN, 'https://two.example'], redirectUris: [REDIRECT_URI] });
    const plain = await comeBack((await started()).url, 'victim');
    const linking = await comeBack((await started(mine)).url, 'attacker');
    const ofBoth = (await (
      await account.ask('/auth/oauth-a', { headers: headers(undefined, both) })
    ).json()) as StartedLogin;
    const atBoth = await comeBack(ofBoth.url, 'both');
    const elsewhere = { ...account.appHeaders({ origin: 'https://two.example' }, both) };
    const refused = await Promise.all([
      callback(plain, theirs), // a signed-in person is made to open the way back of another login
      callback(linking, theirs),
      callback(linking),
      callback(plain, undefined, '/auth/oauth-a/callback', sibling),
      callback(plain, undefined, '/auth/oauth-b/callback'),
      account.ask('/auth/oauth-a/callback', { method: 'POST', headers: elsewhere, body: atBoth }),
      callback({ ...plain, state: 'unknown' }),
    ]);
    expect(await Promise.all(refused.map(codeOf))).toEqual(Array(7).fill('state_unknown'));
    for (const [back, session, by] of [
      [plain, undefined, sibling],
      [linking, theirs, app],
      [plain, theirs, app],
    ] as const) {
      const { state } = back;
      expect(await codeOf(await callback({ state, error: 'x' }, session, '/auth/oauth-a/callback', by))).toBe(
        'oauth_denied',
      );
    }
    expect((await sessionOf(await callback(plain))).userId).not.toBe(theirs.userId);
    expect((await sessionOf(await callback(linking, mine))).userId).toBe(mine.userId);
    expect((await sessionOf(await callback(atBoth, undefined, '/auth/oauth-a/callback', both))).userId).toMatch(
      /^usr_/,
    );
  });

  it('is over after ten minutes, and when the person denied it', async () => {
    const late = await comeBack((await started()).url, 'ada');
    account.clock.time += 600_000;
    expect(await codeOf(await callback(late))).toBe('state_unknown');
    const back = await comeBack((await started()).url, 'ada');
    const denied = await problemOfAnswer(await callback({ state: back.state, error: 'access_denied' }));
    expect(denied).toMatchObject({ code: 'oauth_denied', detail: 'the provider answered access_denied' });
    expect(await codeOf(await callback(back))).toBe('state_unknown');
    const other = await problemOfAnswer(await callback({ error: '<script>\r\n' }));
    expect(other).toMatchObject({ code: 'oauth_denied', detail: 'the provider answered no code' });
    expect((await problemOfAnswer(await callback({ error: 'x'.repeat(10_000) }))).detail).toBe(
      'the provider answered no code',
    );
  });

  it('is not denied by an error that is null or empty, as URLSearchParams of a page give it', async () => {
    for (const error of [null, '']) {
      const back = await comeBack((await started()).url, 'ada');
      await sessionOf(await callback({ ...back, error }));
    }
    const back = await comeBack((await started()).url, 'ada');
    await sessionOf(await callback({ ...back, iss: null, error: null }));
    const denied = await callback({ code: null, iss: null, state: (await started()).state, error: 'access_denied' });
    expect(await codeOf(denied)).toBe('oauth_denied');
  });

  it.each([
    ['no code', { state: 's' }, 'code'],
    ['no state', { code: 'c', error: '' }, 'state'],
    ['a state that is null', { code: 'c', state: null }, 'state'],
    ['a state that is longer than any', { code: 'c', state: 's'.repeat(65) }, 'state'],
    ['a code that is longer than any', { code: 'c'.repeat(4_097), state: 's' }, 'code'],
    ['a state that is no text', { code: 'c', state: 1 }, 'state'],
  ])('refuses a callback with %s', async (_, body, path) => {
    const problem = await problemOfAnswer(await callback(body));
    expect(problem).toMatchObject({ code: 'validation_failed', errors: [{ path }] });
  });

  it('is refused by a provider that is not configured, or for a redirect URI that is not registered', async () => {
    for (const path of ['/auth/oauth-c', '/auth/oauth-d', '/auth/__proto__', '/auth/toString']) {
      expect(await codeOf(await start(undefined, path))).toBe('provider_not_found');
      expect(await codeOf(await callback({ code: 'c', state: 's' }, undefined, `${path}/callback`))).toBe(
        'provider_not_found',
      );
    }
    for (const wrong of [`${REDIRECT_URI}/`, `${REDIRECT_URI}?x=1`, 'https://evil.example/', '']) {
      const answer = await start(undefined, `/auth/oauth-a?redirectUri=${encodeURIComponent(wrong)}`);
      expect((await problemOfAnswer(answer)).errors?.[0]?.path).toBe('redirectUri');
    }
    const without = await account.register();
    expect(await codeOf(await account.ask('/auth/oauth-a', { headers: headers(undefined, without) }))).toBe(
      'validation_failed',
    );
  });

  it('a code that the provider did not give ends the login', async () => {
    const back = await comeBack((await started()).url, 'ada');
    const problem = await problemOfAnswer(await callback({ ...back, code: 'guessed' }));
    expect(problem).toMatchObject({ code: 'oauth_failed' });
    expect(problem.detail).toContain('invalid_grant');
    expect(await codeOf(await callback(back))).toBe('state_unknown');
  });
});
