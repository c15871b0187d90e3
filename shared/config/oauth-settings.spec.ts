import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { checkSettings } from './load-settings.ts';

const client = { clientId: 'annals', clientSecret: 's3cret words' };
const plain = {
  authorizationEndpoint: 'https://site.example/login',
  tokenEndpoint: 'https://api.site.example/token',
  userInfoEndpoint: 'https://api.site.example/me',
  ...client,
  subject: 'data.id',
};
const checked = (provider: unknown) => checkSettings({ OAUTH_A: JSON.stringify(provider) }, {});
const messagesIn = (provider: unknown) => checked(provider).wrong.map(({ name, message }) => `${name} ${message}`);
const pemOf = (namedCurve: string) =>
  generateKeyPairSync('ec', { namedCurve }).privateKey.export({ type: 'pkcs8', format: 'pem' });
const wrongIn = (provider: unknown, environment: NodeJS.ProcessEnv = {}) =>
  checkSettings({ OAUTH_A: JSON.stringify(provider), ...environment }, {}).wrong.map(({ name }) => name);

describe('the settings of a login provider', () => {
  it('are those of an issuer, or of endpoints', () => {
    expect(wrongIn({ issuer: 'https://site.example', ...client })).toEqual([]);
    expect(wrongIn({ issuer: 'https://site.example', ...client, scopes: 'email', authentication: 'post' })).toEqual([]);
    expect(wrongIn({ ...plain, claims: { email: 'mail' }, scopes: 'identify', issuer: 'site' })).toEqual([]);
  });

  it('name what is wrong', () => {
    expect(wrongIn({ issuer: 'https://site.example' })).toEqual(['OAUTH_A.clientId', 'OAUTH_A.clientSecret']);
    expect(wrongIn({ ...plain, subject: '' })).toEqual(['OAUTH_A.subject']);
    expect(wrongIn({ ...plain, claims: { phone: 'tel' } })).toEqual(['OAUTH_A.claims']);
    expect(wrongIn({ issuer: 'https://site.example', ...client, scope: 'email' })).toEqual(['OAUTH_A']);
    for (const issuer of ['http://site.example', 'https://a:b@site.example', 'https://site.example/#x', 'site']) {
      expect(wrongIn({ issuer, ...client })).toContain('OAUTH_A.issuer');
    }
    expect(wrongIn('text')).toEqual(['OAUTH_A']);
  });

  it('have switches for what a provider does not do as others do', () => {
    const openId = { issuer: 'https://site.example', ...client };
    const switches = {
      pkce: false,
      nonce: false,
      parameters: { prompt: 'consent', response_mode: 'form_post', access_type: 'offline' },
      claims: { username: 'nick', firstname: 'given', lastname: 'family', avatar: 'picture', email: 'mail' },
      idTokenAlg: 'ES256',
      audiences: ['annals-ios'],
    };
    expect(checked({ ...openId, ...switches }).settings.OAUTH_A).toEqual({ ...openId, ...switches });
    expect(wrongIn({ ...plain, pkce: false, parameters: { prompt: 'none' } })).toEqual([]);
    expect(wrongIn({ ...plain, nonce: false })).toEqual(['OAUTH_A']);
    expect(messagesIn({ ...openId, idTokenAlg: 'none' })).toEqual([
      expect.stringMatching(/^OAUTH_A\.idTokenAlg .*"HS256"/),
    ]);
    expect(wrongIn({ ...openId, audiences: 'annals-ios' })).toEqual(['OAUTH_A.audiences']);
  });

  it.each([
    'client_id',
    'redirect_uri',
    'response_type',
    'state',
    'nonce',
    'code_challenge',
    'code_challenge_method',
    'request',
    'request_uri',
  ])('leave the parameter %s to each login', (name) => {
    expect(messagesIn({ ...plain, parameters: { [name]: 'x' } })).toEqual([
      `OAUTH_A.parameters.${name} is set by each login itself: remove it`,
    ]);
  });

  it('name a parameter that has a setting of its own, or is none', () => {
    expect(messagesIn({ ...plain, parameters: { scope: 'x' } })).toEqual([
      'OAUTH_A.parameters.scope has a setting of its own: use scopes',
    ]);
    expect(messagesIn({ ...plain, parameters: { 'a b': 'x' } })).toEqual([
      'OAUTH_A.parameters.a b is not the name of a parameter',
    ]);
  });

  it("take a secret that signs id tokens only if it is as long as the signature's hash", () => {
    const openId = { issuer: 'https://site.example', clientId: 'annals' };
    expect(wrongIn({ ...openId, clientSecret: 'x'.repeat(32), idTokenAlg: 'HS256' })).toEqual([]);
    expect(messagesIn({ ...openId, clientSecret: 'x'.repeat(31), idTokenAlg: 'HS256' })).toEqual([
      'OAUTH_A.idTokenAlg needs a clientSecret of at least 32 bytes: anybody who guesses it can log in as any user',
    ]);
    expect(wrongIn({ ...openId, clientSecret: 'x'.repeat(32), idTokenAlg: 'HS512' })).toEqual(['OAUTH_A.idTokenAlg']);
    const clientSecret = { key: pemOf('P-256'), keyId: 'k', teamId: 't' };
    expect(wrongIn({ ...openId, clientSecret, idTokenAlg: 'HS256' })).toEqual(['OAUTH_A.idTokenAlg']);
  });

  it('take a key in place of the secret of an issuer', () => {
    const openId = { issuer: 'https://site.example', clientId: 'annals' };
    const clientSecret = { key: pemOf('P-256'), keyId: 'k', teamId: 't' };
    expect(wrongIn({ ...openId, clientSecret })).toEqual([]);
    expect(wrongIn({ ...plain, clientSecret })).toEqual(['OAUTH_A.clientSecret']);
    for (const key of [pemOf('P-384'), 'secret words', pemOf('P-256').replace('PRIVATE', 'PUBLIC')]) {
      expect(messagesIn({ ...openId, clientSecret: { ...clientSecret, key } })).toEqual([
        'OAUTH_A.clientSecret.key is not the PEM of a private key on the curve P-256',
      ]);
    }
    expect(wrongIn({ ...openId, clientSecret: { key: clientSecret.key } })).toEqual([
      'OAUTH_A.clientSecret.keyId',
      'OAUTH_A.clientSecret.teamId',
    ]);
  });

  it('may be without TLS on this machine, and not in production', () => {
    for (const host of ['127.0.0.1:8080', 'localhost', '[::1]:1']) {
      expect(wrongIn({ issuer: `http://${host}`, ...client })).toEqual([]);
      expect(wrongIn({ issuer: `http://${host}`, ...client }, { NODE_ENV: 'production' })).toEqual(['OAUTH_A']);
    }
    const tokenEndpoint = 'http://localhost/token';
    expect(wrongIn({ ...plain, tokenEndpoint }, { NODE_ENV: 'production' })).toEqual(['OAUTH_A']);
    expect(wrongIn(plain, { NODE_ENV: 'production' })).toEqual([]);
  });

  it('are those of the examples of the manual', () => {
    const manual = readFileSync(join(import.meta.dirname, '../../deploy/README.md'), 'utf8');
    const examples = [...manual.matchAll(/^ *OAUTH_[ABC]: '(.+)'$/gm)].map(
      ([, json = '']) => JSON.parse(json) as object,
    );
    expect(examples).toHaveLength(10);
    for (const example of examples) {
      const secret = (example as { clientSecret: unknown }).clientSecret;
      const given = secret === '…' ? 'x'.repeat(32) : { ...(secret as object), key: pemOf('P-256') };
      expect(messagesIn({ ...example, clientSecret: given })).toEqual([]);
    }
  });
});
