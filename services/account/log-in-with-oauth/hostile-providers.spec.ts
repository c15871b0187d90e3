import { userStream } from '../../../schemas/events/user-events.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { StartedLogin } from '../../../schemas/http/oauth-routes.ts';
import type { Session } from '../../../schemas/http/session.ts';
import { readEvery } from '../../../shared/event-store/read-every.ts';
import { problemOfAnswer } from '../../../shared/testing/problem-of-answer.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { userFold } from '../domain/user.ts';
import type { RegisteredApp } from '../register-app/register-app.handler.ts';
import { ORIGIN, startAccountUnderTest, type AccountUnderTest } from '../testing/account-under-test.ethers.ts';
import { HostileProvider } from '../testing/hostile-provider.jose.ts';

const REDIRECT_URI = `${ORIGIN}/callback?from=provider`;
const CLIENT = { clientId: 'annals', clientSecret: 'a secret: of the client' };
const folder = temporaryFolder();

describe('a login provider', () => {
  const [one, two] = [new HostileProvider(CLIENT.clientId), new HostileProvider(CLIENT.clientId)];
  let account: AccountUnderTest;
  let app: RegisteredApp;
  beforeAll(async () => {
    await Promise.all([one.start(), two.start()]);
    const { issuer } = two;
    account = await startAccountUnderTest(folder, {
      OAUTH_A: JSON.stringify({ issuer: one.issuer, ...CLIENT, scopes: 'email' }),
      OAUTH_B: JSON.stringify({ issuer, ...CLIENT, authentication: 'post' }),
      OAUTH_C: JSON.stringify({
        authorizationEndpoint: `${issuer}/login?prompt=consent`,
        tokenEndpoint: `${issuer}/token`,
        userInfoEndpoint: `${issuer}/me`,
        ...CLIENT,
        subject: 'data.id',
        claims: { username: 'data.username' },
      }),
    });
    app = await account.register({ redirectUris: [REDIRECT_URI] });
  });
  afterAll(async () => {
    await account.service.close();
    await Promise.all([one.stop(), two.stop()]);
  });
  beforeEach(() => {
    for (const provider of [one, two]) provider.behaviour = {};
  });

  const ask = (path: string, options: object = {}) =>
    account.ask(path, { headers: account.appHeaders({}, app), ...options });
  const start = async (method: string): Promise<StartedLogin> => {
    const answer = await ask(`/auth/${method}`);
    expect(answer.status).toBe(200);
    return (await answer.json()) as StartedLogin;
  };
  const callback = (method: string, body: object) => ask(`/auth/${method}/callback`, { method: 'POST', body });
  const logIn = async (method: string, provider: HostileProvider, more: object = {}): Promise<Response> => {
    const { url, state } = await start(method);
    return callback(method, { state, code: provider.codeFor(url), ...more });
  };
  const labelsOf = async (answer: Response): Promise<unknown[]> => {
    expect(answer.status).toBe(201);
    const { userId } = (await answer.json()) as Session;
    const { state: user } = await account.transactor.load(userStream(userId), userFold);
    return user.entity?.identities.map(({ label }) => label) ?? [];
  };
  const refusalOf = async (answer: Response) => {
    const { code, detail } = await problemOfAnswer(answer);
    return { code, detail };
  };

  it('that is honest logs in, and is told the redirect URI as it is registered, and the verifier', async () => {
    expect(await labelsOf(await logIn('oauth-a', one))).toEqual(['mallory@example.org']);
    const { form, authorization } = one.exchanged.at(-1) ?? {};
    expect(form?.get('redirect_uri')).toBe(REDIRECT_URI);
    expect(form?.get('code_verifier')).toMatch(/^\w{52}$/);
    expect(form?.has('client_secret')).toBe(false);
    const basic = `${CLIENT.clientId}:${encodeURIComponent(CLIENT.clientSecret).replaceAll('%20', '+')}`;
    expect(authorization).toBe(`Basic ${Buffer.from(basic).toString('base64')}`);
    await logIn('oauth-b', two);
    expect(two.exchanged.at(-1)?.form.get('client_secret')).toBe(CLIENT.clientSecret);
  });

  it('gives tokens that are neither stored nor passed on', async () => {
    let given: unknown;
    one.behaviour.token = (answer) => {
      given = answer['id_token'];
      return { body: answer };
    };
    const answer = await (await logIn('oauth-a', one)).text();
    const stored: string[] = [answer];
    for await (const { dataText, metadata } of readEvery(account.foundation.eventStore)) {
      stored.push(dataText, JSON.stringify(metadata));
    }
    for (const token of [given as string, 'a-token']) expect(stored.join('\n')).not.toContain(token);
  });

  it('that puts no name into its id token is asked for one', async () => {
    one.behaviour = {
      claims: ({ email: _, ...claims }) => claims,
      userInfo: () => ({ body: { sub: 'mallory', name: 'Mallory\u202e\u0000' } }),
    };
    await logIn('oauth-a', one);
    expect(one.asked.at(-1)).toBe('/me');
    one.behaviour.userInfo = () => ({ body: { sub: 'somebody else' } });
    expect((await refusalOf(await logIn('oauth-a', one))).code).toBe('oauth_failed');
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
    const { url, state } = await start('oauth-a');
    const back = { state, code: one.codeFor(url) };
    expect((await refusalOf(await callback('oauth-a', back))).code).toBe('oauth_failed');
    one.behaviour = {};
    expect((await refusalOf(await callback('oauth-a', back))).code).toBe('state_unknown');
  });

  it('is refused with an id token that it gave before', async () => {
    let replayed = '';
    one.behaviour.token = (answer) => {
      replayed = answer['id_token'] as string;
      return { body: answer };
    };
    expect((await logIn('oauth-a', one)).status).toBe(201);
    one.behaviour.token = (answer) => ({ body: { ...answer, id_token: replayed } });
    expect((await refusalOf(await logIn('oauth-a', one))).code).toBe('oauth_failed');
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
    const { code, detail } = await refusalOf(await logIn('oauth-a', one));
    expect(code).toBe('oauth_failed');
    expect(detail).not.toMatch(/secret|<|\n/);
  });

  it.each<[string, HostileProvider['behaviour']['token']]>([
    ['is overloaded', () => ({ status: 503, body: {} })],
    ['wants to be asked later', () => ({ status: 429, body: {} })],
    ['does not answer', () => ({ body: undefined })],
  ])('that %s can be sent the same code again', async (_, token) => {
    const { url, state } = await start('oauth-a');
    const back = { state, code: one.codeFor(url) };
    one.behaviour = { ...(token && { token }) };
    expect((await refusalOf(await callback('oauth-a', back))).code).toBe('dependency_unavailable');
    one.behaviour = {};
    expect((await callback('oauth-a', back)).status).toBe(201);
  });

  it('is not given the code of another one', async () => {
    const [atOne, atTwo] = [await start('oauth-a'), await start('oauth-b')];
    const code = two.codeFor(atTwo.url);
    const before = one.exchanged.length;
    expect((await refusalOf(await callback('oauth-b', { state: atOne.state, code }))).code).toBe('state_unknown');
    const mixedUp = await callback('oauth-a', { state: atOne.state, code, iss: two.issuer });
    expect(await refusalOf(mixedUp)).toMatchObject({ code: 'oauth_failed' });
    expect(one.exchanged).toHaveLength(before);
    expect((await callback('oauth-b', { state: atTwo.state, code, iss: two.issuer })).status).toBe(201);
  });

  it('of plain OAuth 2 says by its user-info who somebody is', async () => {
    two.behaviour.userInfo = () => ({ body: { data: { id: 7, username: ' octocat ' } } });
    two.behaviour.token = ({ id_token: _, ...answer }) => ({ body: answer });
    const { url } = await start('oauth-c');
    expect(new URL(url).searchParams.get('prompt')).toBe('consent');
    expect(new URL(url).searchParams.has('nonce')).toBe(false);
    expect(await labelsOf(await logIn('oauth-c', two))).toEqual(['octocat']);
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
    expect((await refusalOf(await logIn('oauth-c', two))).code).toBe('oauth_failed');
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

  it.each(['token_endpoint', 'jwks_uri', 'userinfo_endpoint'])(
    'gives no way into the network by its %s',
    async (member) => {
      const OAUTH_A = JSON.stringify({ issuer: provider.issuer, ...CLIENT });
      const account = await startAccountUnderTest(folder, { OAUTH_A });
      const app = await account.register({ redirectUris: [REDIRECT_URI] });
      const headers = () => account.appHeaders({}, app);
      provider.behaviour = {
        discovery: (document) => ({ body: { ...document, [member]: `${inside.issuer}/me` } }),
        claims: ({ email: _, ...claims }) => claims,
      };
      const { url, state } = (await (
        await account.ask('/auth/oauth-a', { headers: headers() })
      ).json()) as StartedLogin;
      const body = { state, code: provider.codeFor(url) };
      const answer = await account.ask('/auth/oauth-a/callback', { method: 'POST', headers: headers(), body });
      expect((await problemOfAnswer(answer)).code).toBe('oauth_failed');
      expect(inside.asked).toEqual([]);
      await account.service.close();
    },
  );
});
