import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Session } from '../../../../schemas/http/account/session.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { withoutAppendsTo } from '../../../../shared/testing/without-appends-to.ts';
import { HostileProvider } from '../../testing/hostile-provider.jose.ts';
import { REDIRECT_URI, startProviderLogins } from '../../testing/provider-logins.ts';
import { sessionOf } from '../../testing/sessions.ts';

const folder = temporaryFolder();
const CLIENT = { clientId: 'annals', clientSecret: 'a-secret-of-the-client-of-32-bytes-or-more' };
const hash = (encoding: 'hex' | 'base64url') => createHash('sha256').update('a nonce').digest(encoding);

describe('logging in with an id token of a provider', () => {
  const provider = new HostileProvider(CLIENT.clientId);
  let logins: Awaited<ReturnType<typeof startProviderLogins>>;
  beforeAll(async () => {
    await provider.start();
    const { issuer } = provider;
    const endpoints = { authorizationEndpoint: issuer, tokenEndpoint: issuer, userInfoEndpoint: issuer };
    logins = await startProviderLogins(folder, {
      OAUTH_A: { issuer, ...CLIENT, audiences: ['annals-ios', 'annals-android'] },
      OAUTH_B: { issuer, ...CLIENT, idTokenAlg: 'HS256' },
      OAUTH_C: { ...endpoints, ...CLIENT, subject: 'id' },
    });
  });
  afterAll(async () => {
    await logins.account.service.close();
    await provider.stop();
  });

  let made = 0;
  /** Somebody new, so that no two tokens are the same. */
  let sub = '';
  beforeEach(() => {
    sub = `person-${String((made += 1))}`;
    logins.warnings();
  });
  const tokenOf = (claims: object = {}, more: HostileProvider['behaviour'] = {}) => {
    made += 1;
    provider.behaviour = { ...more, claims: (honest) => ({ ...honest, sub, jti: String(made), ...claims }) };
    return provider.idToken();
  };
  const post = (body: object, { session, method = 'oauth-a', headers = {}, by = logins.app }: Options = {}) =>
    logins.account.ask(`/auth/${method}/token`, {
      method: 'POST',
      body,
      headers: {
        ...logins.account.appHeaders({}, by),
        ...(session && { authorization: `Bearer ${session.accessToken}` }),
        ...headers,
      },
    });
  interface Options {
    session?: Session;
    method?: string;
    headers?: Record<string, string>;
    by?: typeof logins.app;
  }
  const codeOf = async (answer: Response) => (await logins.refusalOf(answer)).code;

  it('makes a user, who is the same who logs in through the page of the provider', async () => {
    const names = { given_name: 'Ada', family_name: 'Lovelace', picture: 'https://site.example/ada.png' };
    const user = await logins.userOf(await post({ idToken: await tokenOf(names) }));
    expect(user).toMatchObject({ firstname: 'Ada', lastname: 'Lovelace', avatar: names.picture });
    expect(user?.identities).toMatchObject([{ method: 'oauth-a', label: 'mallory@example.org' }]);
    await tokenOf();
    expect((await logins.userOf(await logins.logIn('oauth-a', provider)))?.id).toBe(user?.id);
  });

  it.each<[string, object]>([
    ['of another client of the setting', { aud: 'annals-ios' }],
    ['asked for by one client of the setting for another', { aud: 'annals', azp: 'annals-android' }],
    ['for several clients, one of which asked', { aud: ['annals', 'other'], azp: 'annals-ios' }],
    ['with a nonce that nobody asks about', { nonce: 'any' }],
  ])('takes a token %s', async (_, claims) => {
    expect((await post({ idToken: await tokenOf(claims) })).status).toBe(201);
  });

  it.each<[string, object, HostileProvider['behaviour']]>([
    ['of another issuer', { iss: 'https://other.example' }, {}],
    ['for another client', { aud: 'another' }, {}],
    ['for several clients, and another asked', { aud: ['annals', 'other'], azp: 'other' }, {}],
    ['for several clients, and nobody says who asked', { aud: ['annals', 'other'] }, {}],
    ['for nobody', { aud: undefined }, {}],
    ['that has expired', { exp: Math.floor(Date.now() / 1_000) - 60 }, {}],
    ['that never expires', { exp: undefined }, {}],
    ['that is not valid yet', { nbf: Math.floor(Date.now() / 1_000) + 120 }, {}],
    ['of nobody', { sub: undefined }, {}],
    ['of an empty subject', { sub: '' }, {}],
    ['without a signature', {}, { header: 'none' }],
    ['that another key signed', {}, { isForged: true }],
    ['that an unknown key signed', {}, { header: { alg: 'RS256', kid: 'unknown' } }],
    ["that the client's secret signed", {}, { header: { alg: 'HS256' }, secret: CLIENT.clientSecret }],
    ['that is an access token', {}, { header: { alg: 'RS256', kid: 'k', typ: 'at+jwt' } }],
    ['that is a logout token', {}, { header: { alg: 'RS256', kid: 'k', typ: 'logout+jwt' } }],
  ])('refuses a token %s', async (_, claims, behaviour) => {
    expect(await codeOf(await post({ idToken: await tokenOf(claims, behaviour) }))).toBe('oauth_failed');
    expect(logins.warnings()).toMatchObject([{ provider: 'oauth-a' }]);
  });

  it('refuses what is no token', async () => {
    for (const idToken of ['x', 'a.b.c', '..', `${await tokenOf()}x`]) {
      expect(await codeOf(await post({ idToken }))).toBe('oauth_failed');
    }
    for (const body of [
      {},
      { idToken: '' },
      { idToken: 7 },
      { idToken: 'x'.repeat(16_385) },
      { idToken: 'x', nonce: '' },
    ]) {
      expect(await codeOf(await post(body))).toBe('validation_failed');
    }
  });

  it('compares the nonce of the app with that of the token, or with its hash there', async () => {
    for (const nonce of ['a nonce', hash('hex'), hash('base64url')]) {
      expect((await post({ idToken: await tokenOf({ nonce }), nonce: 'a nonce' })).status).toBe(201);
    }
    for (const nonce of ['another', undefined, hash('hex').toUpperCase(), '']) {
      expect(await codeOf(await post({ idToken: await tokenOf({ nonce }), nonce: 'a nonce' }))).toBe('oauth_failed');
    }
    expect((await post({ idToken: await tokenOf(), nonce: null })).status).toBe(201);
  });

  it('takes a token once, of twenty at once too, and of no other app', async () => {
    const idToken = await tokenOf();
    const answers = await Promise.all(Array.from({ length: 20 }, () => post({ idToken })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const by = await logins.account.register({ redirectUris: [REDIRECT_URI] });
    expect(await codeOf(await post({ idToken }))).toBe('request_replayed');
    // The last character has bits that no byte of the signature has.
    const last = String.fromCodePoint((idToken.codePointAt(idToken.length - 1) ?? 0) + 1);
    expect((await post({ idToken: idToken.slice(0, -1) + last })).status).not.toBe(201);
    expect(await codeOf(await post({ idToken }, { by }))).toBe('request_replayed');
    expect(await codeOf(await post({ idToken }, { method: 'oauth-b' }))).toBe('request_replayed');
  });

  it('takes a token once, as long as it lives', async () => {
    const exp = Math.floor(Date.now() / 1_000) + 30 * 86_400;
    const idToken = await tokenOf({ exp });
    expect((await post({ idToken })).status).toBe(201);
    const { clock } = logins.account;
    const before = clock.time;
    for (const days of [2, 29]) {
      clock.time = before + days * 86_400_000;
      expect(await codeOf(await post({ idToken }))).toBe('request_replayed');
    }
    clock.time = before + 31 * 86_400_000;
    expect(await codeOf(await post({ idToken }))).toBe('oauth_failed');
    clock.time = before;
  });

  it('is completed by the same request after a crash, and by no other app', async () => {
    const by = await logins.account.register({ redirectUris: [REDIRECT_URI] });
    for (const failing of ['identity-', 'user-', 'session-']) {
      sub = `crash-${failing}`;
      const idToken = await tokenOf({ given_name: 'Crash' });
      const crashed = await withoutAppendsTo(failing, logins.account.foundation, () => post({ idToken }));
      expect(await codeOf(crashed)).toBe('internal_error');
      expect(await codeOf(await post({ idToken }, { by }))).toBe('request_replayed');
      expect(await logins.userOf(await post({ idToken }))).toMatchObject({ firstname: 'Crash' });
      expect(await codeOf(await post({ idToken }))).toBe('request_replayed');
    }
  });

  it('that a crash interrupted is completed by who wants the same: a plain login, or the same user who links', async () => {
    const { account } = logins;
    const [own, other] = [await account.logIn(account.newWallet()), await account.logIn(account.newWallet())];
    for (const [wanted, ...others] of [[own, other, undefined] as const, [undefined, own] as const]) {
      sub = wanted ? 'links' : 'logs-in';
      const idToken = await tokenOf();
      const by = (session: Session | undefined) => post({ idToken }, session ? { session } : {});
      const crashed = await withoutAppendsTo('identity-', account.foundation, () => by(wanted));
      expect(await codeOf(crashed)).toBe('internal_error');
      for (const session of others) expect(await codeOf(await by(session))).toBe('request_replayed');
      const completed = await sessionOf(await by(wanted));
      expect(completed.userId === own.userId).toBe(wanted === own);
    }
  });

  it('is answered the same again to a request that is repeated with its idempotency key', async () => {
    const headers = { 'idempotency-key': 'again' };
    const idToken = await tokenOf();
    const first = await sessionOf(await post({ idToken }, { headers }));
    expect(await sessionOf(await post({ idToken }, { headers }))).toEqual(first);
    sub = 'somebody-else-with-the-same-key';
    const other = await sessionOf(await post({ idToken: await tokenOf() }, { headers }));
    expect(other.userId).not.toBe(first.userId);
  });

  it('links the person to the user of a bearer token, whose login is recent', async () => {
    const { account } = logins;
    const session = await account.logIn(account.newWallet());
    const linked = await sessionOf(await post({ idToken: await tokenOf() }, { session }));
    expect(linked.userId).toBe(session.userId);
    const other = await account.logIn(account.newWallet());
    const idToken = await tokenOf();
    expect(await codeOf(await post({ idToken }, { session: other }))).toBe('identity_taken');
    const before = account.clock.time;
    account.clock.time += 301_000;
    const late = { exp: Math.floor(account.clock.time / 1_000) + 60 };
    // What is that user's already is a plain login.
    expect((await post({ idToken: await tokenOf(late) }, { session })).status).toBe(201);
    sub = 'not-linked-yet';
    const unused = await tokenOf(late);
    expect(await codeOf(await post({ idToken: unused }, { session }))).toBe('login_too_old');
    expect(await codeOf(await post({ idToken: 'x' }, { session }))).toBe('login_too_old');
    expect((await post({ idToken: unused })).status).toBe(201);
    account.clock.time = before;
  });

  it('is for providers that sign id tokens, and are configured', async () => {
    const idToken = await tokenOf();
    for (const method of ['oauth-c', 'oauth-d', '__proto__', 'toString']) {
      expect(await codeOf(await post({ idToken }, { method }))).toBe('provider_not_found');
    }
  });

  it("takes what the client's secret signed where the setting says so, and what the provider's keys did", async () => {
    const bySecret = { header: { alg: 'HS256' }, secret: CLIENT.clientSecret };
    expect((await post({ idToken: await tokenOf({}, bySecret) }, { method: 'oauth-b' })).status).toBe(201);
    expect((await post({ idToken: await tokenOf() }, { method: 'oauth-b' })).status).toBe(201);
    const guessed = await tokenOf({}, { ...bySecret, secret: 'x'.repeat(32) });
    expect(await codeOf(await post({ idToken: guessed }, { method: 'oauth-b' }))).toBe('oauth_failed');
  });

  it('asks the provider for its keys once, and says when it is away', async () => {
    const asked = provider.asked.filter((path) => path === '/keys');
    expect(asked.length).toBeGreaterThan(0);
    await post({ idToken: await tokenOf() });
    expect(provider.asked.filter((path) => path === '/keys')).toHaveLength(asked.length);
    const away = new HostileProvider(CLIENT.clientId);
    await away.start();
    const { issuer } = away;
    const elsewhere = await startProviderLogins(folder, { OAUTH_A: { issuer, ...CLIENT } });
    await away.stop();
    const answer = await elsewhere.ask('/auth/oauth-a/token', { method: 'POST', body: { idToken: 'x' } });
    expect(await codeOf(answer)).toBe('dependency_unavailable');
    await elsewhere.account.service.close();
  });
});
