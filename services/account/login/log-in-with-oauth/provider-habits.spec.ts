import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { withoutAppendsTo } from '../../../../shared/testing/without-appends-to.ts';
import { PROVIDER_LIMITS } from '../../testing/account-under-test.ethers.ts';
import { HostileProvider } from '../../testing/hostile-provider.jose.ts';
import { startProviderLogins } from '../../testing/provider-logins.ts';

const folder = temporaryFolder();
const CLIENT = { clientId: 'annals', clientSecret: 'a-secret-of-the-client-of-32-bytes-or-more' };
type Logins = Awaited<ReturnType<typeof startProviderLogins>>;
type Behaviour = HostileProvider['behaviour'];
type Token = NonNullable<Behaviour['token']>;

const openIdOf = ({ issuer }: HostileProvider, more: object = {}) => ({ issuer, ...CLIENT, ...more });
const plainOf = ({ issuer }: HostileProvider, more: object = {}) => ({
  authorizationEndpoint: `${issuer}/login`,
  tokenEndpoint: `${issuer}/token`,
  userInfoEndpoint: `${issuer}/me`,
  ...CLIENT,
  subject: 'sub',
  ...more,
});

describe('the habits of providers', () => {
  const provider = new HostileProvider(CLIENT.clientId);
  let logins: Logins;
  beforeAll(async () => {
    await provider.start();
    logins = await startProviderLogins(folder, {
      OAUTH_A: openIdOf(provider),
      OAUTH_C: plainOf(provider, { claims: { username: 'login', firstname: 'first', avatar: 'picture' } }),
    });
  });
  afterAll(async () => {
    await logins.account.service.close();
    await provider.stop();
  });
  beforeEach(() => {
    provider.behaviour = {};
    logins.warnings();
  });

  const habits: [string, Token][] = [
    ['a scope that is a list', (answer) => ({ body: { ...answer, scope: ['openid', 'email'] } })],
    ['a scope that is null', (answer) => ({ body: { ...answer, scope: null } })],
    ['a refresh token that is null', (answer) => ({ body: { ...answer, refresh_token: null } })],
    ['a life that is null', (answer) => ({ body: { ...answer, expires_in: null } })],
    ['a life that is no number', (answer) => ({ body: { ...answer, expires_in: 'an hour' } })],
    ['no token type', ({ token_type: _, ...answer }) => ({ body: answer })],
    ['a token type that is null', (answer) => ({ body: { ...answer, token_type: null } })],
    ['the status 201', (answer) => ({ status: 201, body: answer })],
    ['an error that is null', (answer) => ({ body: { ...answer, error: null } })],
    ['the media type of a script', (answer) => ({ headers: { 'content-type': 'text/javascript' }, body: answer })],
    ['a byte order mark', (answer) => ({ body: `\ufeff${JSON.stringify(answer)}` })],
    ['members of its own', (answer) => ({ body: { ...answer, token_type: 'Bearer', user: { id: 7 }, ok: true } })],
  ];
  it.each(habits)('of answering a code with %s fail no login', async (_, token) => {
    for (const method of ['oauth-a', 'oauth-c']) {
      provider.behaviour = { token };
      expect((await logins.logIn(method, provider)).status).toBe(201);
    }
    expect(logins.warnings()).toEqual([]);
  });

  it('of plain OAuth 2 to give an id token that is not asked for fails no login', async () => {
    provider.behaviour.token = (answer) => ({ body: { ...answer, id_token: 'x' } });
    expect((await logins.logIn('oauth-c', provider)).status).toBe(201);
  });

  it('of answering an error with 200 is told by its code', async () => {
    provider.behaviour.token = () => ({ body: { error: 'bad_verification_code', error_description: 'secret' } });
    const { code, detail } = await logins.refusalOf(await logins.logIn('oauth-c', provider));
    expect(code).toBe('oauth_failed');
    expect(detail).toBe('the login provider did not confirm who this is: bad_verification_code');
  });

  it.each<[string, Behaviour['userInfo']]>([
    ['is forbidden', () => ({ status: 403, body: {} })],
    ['is not there', () => ({ status: 404, body: {} })],
    ['fails', () => ({ status: 500, body: 'secret-of-a-person' })],
    [
      'is a signed token',
      () => ({ headers: { 'content-type': 'application/jwt' }, body: 'secret-of-a.person.signature' }),
    ],
    ['is not JSON', () => ({ body: 'secret-of-a-person' })],
    ['is of somebody else', () => ({ body: { sub: 'somebody-else', name: 'secret-of-a-person' } })],
    ['is a list', () => ({ body: '["secret-of-a-person"]' })],
    ['never comes', () => ({ body: undefined })],
  ])('fail no login that an id token has proved, when the user-info %s', async (_, userInfo) => {
    if (_ === 'never comes') logins.limits.userInfoMs = 50;
    const sub = `known-by-its-subject-${_}`.replaceAll(' ', '-');
    provider.behaviour = {
      claims: ({ email: _email, ...claims }) => ({ ...claims, sub }),
      ...(userInfo && { userInfo }),
    };
    expect(await logins.labelsOf(await logins.logIn('oauth-a', provider))).toEqual([sub]);
    logins.limits.userInfoMs = PROVIDER_LIMITS.userInfoMs;
    const logged = logins.account.foundation.logged;
    expect(JSON.stringify(logged)).not.toContain('secret-of');
    expect(logins.warnings()).toMatchObject([{ provider: 'oauth-a' }]);
  });

  it('of taking all the time that an answer has leave none for the user-info, and fail no login', async () => {
    provider.behaviour.claims = ({ email: _, ...claims }) => ({ ...claims, sub: 'slow' });
    provider.behaviour.token = (answer) => {
      logins.account.clock.time += logins.limits.answerMs;
      return { body: answer };
    };
    expect(await logins.labelsOf(await logins.logIn('oauth-a', provider))).toEqual(['slow']);
    expect(provider.asked.at(-1)).not.toBe('/me');
    expect(logins.warnings()).toMatchObject([{ provider: 'oauth-a', reason: 'away' }]);
  });

  it.each(['oauth-a', 'oauth-c'])('of %s to name nobody make no user', async (method) => {
    for (const sub of ['', ' ', '\u0000', 'x'.repeat(256)]) {
      provider.behaviour = { claims: (claims) => ({ ...claims, sub }), userInfo: () => ({ body: { sub } }) };
      expect((await logins.refusalOf(await logins.logIn(method, provider))).code).toBe('oauth_failed');
    }
    expect(logins.warnings()).toMatchObject(Array(4).fill({ provider: method, reason: 'subject_refused' }));
  });

  it('fill members of the profile that are empty, and change none', async () => {
    const names = { given_name: 'Ada', family_name: 'Lovelace', picture: 'https://site.example/ada.png' };
    provider.behaviour.claims = (claims) => ({
      ...claims,
      sub: 'ada',
      ...names,
      preferred_username: 'ada@example.org',
    });
    const profile = { username: null, firstname: 'Ada', lastname: 'Lovelace', avatar: names.picture };
    expect(await logins.userOf(await logins.logIn('oauth-a', provider))).toMatchObject(profile);
    provider.behaviour.claims = (claims) => ({
      ...claims,
      sub: 'ada',
      given_name: 'Augusta',
      preferred_username: 'ada',
    });
    const later = { ...profile, username: 'ada' };
    expect(await logins.userOf(await logins.logIn('oauth-a', provider))).toMatchObject(later);
  });

  it('fill what the settings name, of the user-info too, made to fit', async () => {
    const said = { sub: 'grace', login: ' gr\u200bace ', first: 'G'.repeat(80), picture: 'http://site.example/' };
    provider.behaviour.userInfo = () => ({ body: said });
    const user = await logins.userOf(await logins.logIn('oauth-c', provider));
    expect(user).toMatchObject({ username: 'grace', firstname: 'G'.repeat(50), avatar: null });
    expect(user?.identities).toMatchObject([{ label: 'grace' }]);
    provider.behaviour = {
      claims: (claims) => ({ ...claims, sub: 'thin' }),
      userInfo: () => ({ body: { sub: 'thin', given_name: 'Thin' } }),
    };
    expect(await logins.userOf(await logins.logIn('oauth-a', provider))).toMatchObject({ firstname: 'Thin' });
  });

  it('fill the profile although a crash interrupted the login', async () => {
    provider.behaviour.claims = (claims) => ({ ...claims, sub: 'crash', given_name: 'Crash' });
    const { foundation } = logins.account;
    const { url, state } = await logins.start('oauth-a');
    const back = { state, code: provider.codeFor(url) };
    const callback = () => logins.callback('oauth-a', back);
    const crashed = await withoutAppendsTo('user-', foundation, callback);
    expect((await logins.refusalOf(crashed)).code).toBe('internal_error');
    expect(await logins.userOf(await callback())).toMatchObject({ firstname: 'Crash' });
    const stored = JSON.stringify(await foundation.eventStore.readAll(0, undefined, 10_000));
    expect(stored).toContain('sealedProfile');
    expect(stored).not.toContain('Crash');
  });

  it.each<[string, Token, string, string]>([
    ['its code', () => ({ status: 401, body: { error: 'invalid_client' } }), 'invalid_client', 'invalid_client'],
    ['a code of its own', () => ({ status: 400, body: { error: 'x.1' } }), 'other_code', 'x.1'],
    ['that it is away', () => ({ status: 503, body: {} }), 'away', 'it does not answer'],
    ['what was not understood', () => ({ body: 'secret words' }), 'answer_refused', 'OAuth 2'],
    ['that no token came', () => ({ body: {} }), 'answer_refused', 'OAuth 2'],
  ])('are logged and counted when a login fails, with %s', async (_, token, reason, said) => {
    const measured = async () => {
      const counted = await logins.account.service.measured?.[0]?.read();
      return counted?.find(({ labels }) => labels['provider'] === 'oauth-c' && labels['reason'] === reason)?.value ?? 0;
    };
    const before = await measured();
    provider.behaviour = { token };
    await logins.logIn('oauth-c', provider);
    const warnings = logins.warnings();
    expect(warnings).toMatchObject([{ provider: 'oauth-c', reason, msg: 'a login at a provider failed' }]);
    expect(warnings[0]?.['said']).toContain(said);
    expect(JSON.stringify(warnings)).not.toContain('secret');
    expect(await measured()).toBe(before + 1);
  });

  it('of answering a challenge beside its code, or with its user-info, hide no reason', async () => {
    const headers = { 'www-authenticate': 'Basic realm="secret words"' };
    provider.behaviour.token = () => ({ status: 401, headers, body: { error: 'invalid_client' } });
    await logins.logIn('oauth-c', provider);
    provider.behaviour = { userInfo: () => ({ status: 401, headers, body: {} }) };
    const { detail } = await logins.refusalOf(await logins.logIn('oauth-c', provider));
    expect(detail).toBe('the login provider did not confirm who this is: its user-info answered 401');
    expect(logins.warnings()).toMatchObject([{ reason: 'invalid_client' }, { reason: 'user_info_refused' }]);
  });

  it('are logged when the provider denies a login, and not when somebody says so who has none', async () => {
    await logins.callback('oauth-a', { state: 'unknown', error: 'invalid_scope' });
    expect(logins.warnings()).toEqual([]);
    const { state } = await logins.start('oauth-a');
    const answer = await logins.callback('oauth-a', { state, error: 'invalid_scope' });
    expect((await logins.refusalOf(answer)).code).toBe('oauth_denied');
    expect(logins.warnings()).toMatchObject([{ provider: 'oauth-a', reason: 'denied', said: 'invalid_scope' }]);
  });
});

describe('a provider that does not do as others do', () => {
  const provider = new HostileProvider(CLIENT.clientId);
  beforeAll(() => provider.start());
  afterAll(() => provider.stop());
  beforeEach(() => {
    provider.behaviour = {};
  });
  const withSetting = async (more: object, check: (logins: Logins) => Promise<void>) => {
    const logins = await startProviderLogins(folder, {
      OAUTH_A: openIdOf(provider, more),
      OAUTH_C: plainOf(provider, more),
    });
    try {
      await check(logins);
    } finally {
      await logins.account.service.close();
    }
  };

  it('may have neither PKCE nor a nonce', async () => {
    provider.behaviour.claims = ({ nonce: _, ...claims }) => claims;
    const OAUTH_A = openIdOf(provider, { pkce: false, nonce: false });
    const OAUTH_C = plainOf(provider, { pkce: false });
    const logins = await startProviderLogins(folder, { OAUTH_A, OAUTH_C });
    for (const method of ['oauth-a', 'oauth-c']) {
      const asked = new URL((await logins.start(method)).url).searchParams;
      expect([...asked.keys()].filter((name) => /nonce|challenge/.test(name))).toEqual([]);
      expect((await logins.logIn(method, provider)).status).toBe(201);
      expect(provider.exchanged.at(-1)?.form.has('code_verifier')).toBe(false);
    }
    await logins.account.service.close();
  });

  it('is sent the parameters of its setting, beside those of each login', () =>
    withSetting({ parameters: { prompt: 'consent', response_mode: 'form_post' } }, async (logins) => {
      for (const method of ['oauth-a', 'oauth-c']) {
        const { url, state } = await logins.start(method);
        const asked = Object.fromEntries(new URL(url).searchParams);
        expect(asked).toMatchObject({ prompt: 'consent', response_mode: 'form_post', state, response_type: 'code' });
        expect(asked['code_challenge']).toMatch(/^[\w-]{43}$/);
      }
    }));

  it("may sign id tokens with the client's secret, if its setting says so", async () => {
    const header = { alg: 'HS256' };
    const signed: Behaviour = {
      header,
      secret: CLIENT.clientSecret,
      discovery: (document) => ({
        body: { ...document, id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'] },
      }),
    };
    const OAUTH_A = openIdOf(provider, { idTokenAlg: 'HS256' });
    const logins = await startProviderLogins(folder, { OAUTH_A, OAUTH_B: openIdOf(provider) });
    provider.behaviour = signed;
    expect((await logins.logIn('oauth-a', provider)).status).toBe(201);
    expect((await logins.refusalOf(await logins.logIn('oauth-b', provider))).code).toBe('oauth_failed');
    for (const wrong of [
      { ...signed, secret: 'another-secret-of-32-bytes-or-more' },
      { ...signed, header: 'none' as const },
      { discovery: signed.discovery },
    ]) {
      provider.behaviour = wrong as Behaviour;
      expect((await logins.refusalOf(await logins.logIn('oauth-a', provider))).code).toBe('oauth_failed');
    }
    await logins.account.service.close();
  });

  it('may want a secret that a key signed, made anew each time', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const clientSecret = { key, keyId: 'KEY', teamId: 'TEAM' };
    const logins = await startProviderLogins(folder, { OAUTH_A: openIdOf(provider, { clientSecret }) });
    const secrets: string[] = [];
    for (const passed of [0, 10 * 60_000]) {
      logins.account.clock.time += passed;
      provider.behaviour.claims = (claims) => ({ ...claims, exp: Number(claims.exp) + 3_600 });
      expect((await logins.logIn('oauth-a', provider)).status).toBe(201);
      secrets.push(provider.exchanged.at(-1)?.form.get('client_secret') ?? '');
    }
    for (const secret of secrets) expect(decodeProtectedHeader(secret)).toMatchObject({ alg: 'ES256', kid: 'KEY' });
    const { payload } = await jwtVerify(secrets[1] ?? '', publicKey, {
      issuer: 'TEAM',
      audience: provider.issuer,
      subject: CLIENT.clientId,
      currentDate: new Date(logins.account.clock.now()),
    });
    expect(Number(payload.exp) - Number(payload.iat)).toBe(300);
    expect(provider.exchanged.at(-1)?.authorization).toBeUndefined();
    await logins.account.service.close();
  });
});
