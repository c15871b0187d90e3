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

  it('may be without TLS on this machine, and not in production', () => {
    for (const host of ['127.0.0.1:8080', 'localhost', '[::1]:1']) {
      expect(wrongIn({ issuer: `http://${host}`, ...client })).toEqual([]);
      expect(wrongIn({ issuer: `http://${host}`, ...client }, { NODE_ENV: 'production' })).toEqual(['OAUTH_A']);
    }
    const tokenEndpoint = 'http://localhost/token';
    expect(wrongIn({ ...plain, tokenEndpoint }, { NODE_ENV: 'production' })).toEqual(['OAUTH_A']);
    expect(wrongIn(plain, { NODE_ENV: 'production' })).toEqual([]);
  });
});
