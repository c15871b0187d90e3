import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { StartedLogin } from '../../../../schemas/http/account/oauth-routes.ts';
import { readEvery } from '../../../../shared/event-store/read-every.ts';
import { problemOfAnswer } from '../../../../shared/testing/http/problem-of-answer.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { PROVIDER_LIMITS, startAccountUnderTest } from '../../testing/account-under-test.ethers.ts';
import { HostileProvider } from '../../testing/hostile-provider.jose.ts';
import { REDIRECT_URI, startProviderLogins } from '../../testing/provider-logins.ts';

const CLIENT = { clientId: 'annals', clientSecret: 'a secret: of_the-client.' };
const folder = temporaryFolder();

describe('a login provider', () => {
  const [one, two] = [new HostileProvider(CLIENT.clientId), new HostileProvider(CLIENT.clientId)];
  let logins: Awaited<ReturnType<typeof startProviderLogins>>;
  beforeAll(async () => {
    await Promise.all([one.start(), two.start()]);
    const { issuer } = two;
    logins = await startProviderLogins(folder, {
      OAUTH_A: { issuer: one.issuer, ...CLIENT, scopes: 'email' },
      OAUTH_B: { issuer, ...CLIENT, authentication: 'post' },
      OAUTH_C: {
        authorizationEndpoint: `${issuer}/login?prompt=consent`,
        tokenEndpoint: `${issuer}/token`,
        userInfoEndpoint: `${issuer}/me`,
        ...CLIENT,
        subject: 'data.id',
        claims: { username: 'data.username' },
      },
    });
  });
  afterAll(async () => {
    await logins.account.service.close();
    await Promise.all([one.stop(), two.stop()]);
  });
  beforeEach(() => {
    for (const provider of [one, two]) provider.behaviour = {};
  });

  it('that is honest logs in, and is told the redirect URI as it is registered, and the verifier', async () => {
    expect(await logins.labelsOf(await logins.logIn('oauth-a', one))).toEqual(['mallory@example.org']);
    const { form, authorization } = one.exchanged.at(-1) ?? {};
    expect(form?.get('redirect_uri')).toBe(REDIRECT_URI);
    expect(form?.get('code_verifier')).toMatch(/^\w{52}$/);
    expect(form?.has('client_secret')).toBe(false);
    const basic = `${CLIENT.clientId}:${encodeURIComponent(CLIENT.clientSecret).replaceAll('%20', '+')}`;
    expect(authorization).toBe(`Basic ${Buffer.from(basic).toString('base64')}`);
    await logins.logIn('oauth-b', two);
    expect(two.exchanged.at(-1)?.form.get('client_secret')).toBe(CLIENT.clientSecret);
  });

  it('gives tokens that are neither stored nor passed on', async () => {
    let given: unknown;
    one.behaviour.token = (answer) => {
      given = answer['id_token'];
      return { body: answer };
    };
    const answer = await (await logins.logIn('oauth-a', one)).text();
    const stored: string[] = [answer];
    for await (const { dataText, metadata } of readEvery(logins.account.foundation.eventStore)) {
      stored.push(dataText, JSON.stringify(metadata));
    }
    for (const token of [given as string, 'a-token']) expect(stored.join('\n')).not.toContain(token);
  });

  it('that puts no name into its id token is asked for one', async () => {
    one.behaviour = {
      claims: ({ email: _, ...claims }) => ({ ...claims, sub: 'nameless' }),
      userInfo: () => ({ body: { sub: 'nameless', name: 'Mallory\u202e\u0000' } }),
    };
    logins.warnings();
    expect(await logins.labelsOf(await logins.logIn('oauth-a', one))).toEqual(['Mallory']);
    expect(one.asked.at(-1)).toBe('/me');
    expect(logins.warnings()).toEqual([]);
    one.behaviour.userInfo = () => ({ body: { sub: 'somebody else', name: 'Somebody else' } });
    expect(await logins.labelsOf(await logins.logIn('oauth-a', one))).toEqual(['Mallory']);
    expect(logins.warnings()).toMatchObject([{ provider: 'oauth-a', reason: 'user_info_refused' }]);
  });

  it.each<[string, HostileProvider['behaviour']]>([
    ['of another issuer', { claims: (claims) => ({ ...claims, iss: 'https://other.example' }) }],
    ['of another login', { claims: (claims) => ({ ...claims, nonce: 'another' }) }],
    ['of no login', { claims: ({ nonce: _, ...claims }) => claims }],
    ['for another client', { claims: (claims) => ({ ...claims, aud: 'another' }) }],
    [
      'for several clients, and ours did not ask',
      { claims: (claims) => ({ ...claims, aud: [CLIENT.clientId, 'x'], azp: 'x' }) },
    ],
    ['that has expired', { claims: (claims) => ({ ...claims, exp: Number(claims.iat) - 60 }) }],
    ['that never expires', { claims: ({ exp: _, ...claims }) => claims }],
    ['of nobody', { claims: ({ sub: _, ...claims }) => claims }],
    ['without a signature', { header: 'none' }],
    ['that another key signed', { isForged: true }],
    ['that an unknown key signed', { header: { alg: 'RS256', kid: 'unknown' } }],
  ])('is refused with an id token %s', async (_, behaviour) => {
    one.behaviour = behaviour;
    const { url, state } = await logins.start('oauth-a');
    const back = { state, code: one.codeFor(url) };
    expect((await logins.refusalOf(await logins.callback('oauth-a', back))).code).toBe('oauth_failed');
    one.behaviour = {};
    expect((await logins.refusalOf(await logins.callback('oauth-a', back))).code).toBe('state_unknown');
  });

  it('is refused with an id token that it gave before', async () => {
    let replayed = '';
    one.behaviour.token = (answer) => {
      replayed = answer['id_token'] as string;
      return { body: answer };
    };
    expect((await logins.logIn('oauth-a', one)).status).toBe(201);
    one.behaviour.token = (answer) => ({ body: { ...answer, id_token: replayed } });
    expect((await logins.refusalOf(await logins.logIn('oauth-a', one))).code).toBe('oauth_failed');
  });

  it.each<
    [string, (answer: Record<string, unknown>) => ReturnType<NonNullable<HostileProvider['behaviour']['token']>>]
  >([
    ['no id token', ({ id_token: _, ...answer }) => ({ body: answer })],
    ['an answer that is not JSON', () => ({ body: '<html>' })],
    ['an answer that is too large', (answer) => ({ body: { ...answer, padding: 'x'.repeat(300_000) } })],
    ['a redirect', () => ({ status: 302, headers: { location: 'http://169.254.169.254/' }, body: '' })],
    ['an error', () => ({ status: 400, body: { error: 'invalid_grant', error_description: 'secret words' } })],
    ['an error that is no code', () => ({ status: 400, body: { error: '<b>\r\nx' } })],
  ])('is refused when it answers a code with %s', async (_, token) => {
    one.behaviour.token = token;
    const { code, detail } = await logins.refusalOf(await logins.logIn('oauth-a', one));
    expect(code).toBe('oauth_failed');
    expect(detail).not.toMatch(/secret|<|\n/);
  });

  it.each<[string, HostileProvider['behaviour']['token'], answerMs: number]>([
    ['is overloaded', () => ({ status: 503, body: {} }), PROVIDER_LIMITS.answerMs],
    ['wants to be asked later', () => ({ status: 429, body: {} }), PROVIDER_LIMITS.answerMs],
    ['does not answer', () => ({ body: undefined }), 100],
  ])('that %s can be sent the same code again', async (_, token, answerMs) => {
    const { url, state } = await logins.start('oauth-a');
    const back = { state, code: one.codeFor(url) };
    one.behaviour = { ...(token && { token }) };
    logins.limits.answerMs = answerMs;
    expect((await logins.refusalOf(await logins.callback('oauth-a', back))).code).toBe('dependency_unavailable');
    logins.limits.answerMs = PROVIDER_LIMITS.answerMs;
    one.behaviour = {};
    expect((await logins.callback('oauth-a', back)).status).toBe(201);
  });

  it('is not given the code of another one', async () => {
    const [atOne, atTwo] = [await logins.start('oauth-a'), await logins.start('oauth-b')];
    const code = two.codeFor(atTwo.url);
    const before = one.exchanged.length;
    expect((await logins.refusalOf(await logins.callback('oauth-b', { state: atOne.state, code }))).code).toBe(
      'state_unknown',
    );
    const mixedUp = await logins.callback('oauth-a', { state: atOne.state, code, iss: two.issuer });
    expect(await logins.refusalOf(mixedUp)).toMatchObject({ code: 'oauth_failed' });
    expect(one.exchanged).toHaveLength(before);
    expect((await logins.callback('oauth-b', { state: atTwo.state, code, iss: two.issuer })).status).toBe(201);
  });

  it('of plain OAuth 2 says by its user-info who somebody is', async () => {
    two.behaviour.userInfo = () => ({ body: { data: { id: 7, username: ' octocat ' } } });
    two.behaviour.token = ({ id_token: _, ...answer }) => ({ body: answer });
    const { url } = await logins.start('oauth-c');
    expect(new URL(url).searchParams.get('prompt')).toBe('consent');
    expect(new URL(url).searchParams.has('nonce')).toBe(false);
    expect(await logins.labelsOf(await logins.logIn('oauth-c', two))).toEqual(['octocat']);
    expect(two.exchanged.at(-1)?.form.get('code_verifier')).toMatch(/^\w{52}$/);
  });

  it.each<[string, object | string, number]>([
    ['nobody', { data: {} }, 200],
    ['somebody by a number that JSON rounds', '{"data":{"id":12345678901234567890}}', 200],
    ['somebody by no name', { data: { id: '' } }, 200],
    ['somebody by an object', { data: { id: { $gt: '' } } }, 200],
    ['nothing that is JSON', 'id=7', 200],
    ['that the token is not valid', {}, 401],
  ])('of plain OAuth 2 is refused when it names %s', async (_, body, status) => {
    two.behaviour.userInfo = () => ({ status, body });
    two.behaviour.token = ({ id_token: _token, ...answer }) => ({ body: answer });
    expect((await logins.refusalOf(await logins.logIn('oauth-c', two))).code).toBe('oauth_failed');
  });
});

describe('what a provider says of itself', () => {
  const provider = new HostileProvider(CLIENT.clientId);
  const inside = new HostileProvider(CLIENT.clientId);
  beforeAll(() => Promise.all([provider.start(), inside.start()]));
  afterAll(() => Promise.all([provider.stop(), inside.stop()]));

  it.each<[string, HostileProvider['behaviour']['discovery']]>([
    ['names another issuer', (document) => ({ body: { ...document, issuer: 'https://other.example' } })],
    ['is not JSON', () => ({ body: 'x' })],
    ['is too large', (document) => ({ body: { ...document, padding: 'x'.repeat(300_000) } })],
    ['is elsewhere', () => ({ status: 302, headers: { location: `${inside.issuer}/keys` }, body: '' })],
    [
      'has a login page without TLS',
      (document) => ({ body: { ...document, authorization_endpoint: 'http://a.example/' } }),
    ],
    [
      'has a login page that is a script',
      (document) => ({ body: { ...document, authorization_endpoint: 'javascript:alert(1)' } }),
    ],
    ['does not come', () => ({ status: 500, body: {} })],
  ])('is not used when it %s, and is asked for again', async (_, discovery) => {
    const OAUTH_A = JSON.stringify({ issuer: provider.issuer, ...CLIENT });
    const account = await startAccountUnderTest(folder, { OAUTH_A });
    const app = await account.register({ redirectUris: [REDIRECT_URI] });
    const start = () => account.ask('/auth/oauth-a', { headers: account.appHeaders({}, app) });
    provider.behaviour = { ...(discovery && { discovery }) };
    expect((await problemOfAnswer(await start())).code).toBe('dependency_unavailable');
    provider.behaviour = {};
    expect((await start()).status).toBe(200);
    expect((await start()).status).toBe(200);
    expect(provider.asked.splice(0).filter((path) => path.includes('well-known'))).toHaveLength(2);
    await account.service.close();
  });

  it.each([
    ['token_endpoint', 'oauth_failed'],
    ['jwks_uri', 'oauth_failed'],
    ['userinfo_endpoint', undefined],
  ])('gives no way into the network by its %s', async (member, code) => {
    const OAUTH_A = JSON.stringify({ issuer: provider.issuer, ...CLIENT });
    const account = await startAccountUnderTest(folder, { OAUTH_A });
    const app = await account.register({ redirectUris: [REDIRECT_URI] });
    const headers = () => account.appHeaders({}, app);
    provider.behaviour = {
      discovery: (document) => ({ body: { ...document, [member]: `${inside.issuer}/me` } }),
      claims: ({ email: _, ...claims }) => claims,
    };
    const { url, state } = (await (await account.ask('/auth/oauth-a', { headers: headers() })).json()) as StartedLogin;
    const body = { state, code: provider.codeFor(url) };
    const answer = await account.ask('/auth/oauth-a/callback', { method: 'POST', headers: headers(), body });
    if (code === undefined) expect(answer.status).toBe(201);
    else expect((await problemOfAnswer(answer)).code).toBe(code);
    expect(inside.asked).toEqual([]);
    await account.service.close();
  });
});
