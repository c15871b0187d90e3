import { expect, it } from '@jest/globals';
import { isOwnAddress } from './provider-fetch.ts';

const issuer = new URL('https://accounts.example.com');

it.each(['https://accounts.example.com/token', 'https://oauth2.example-apis.com/token', 'https://a.b.c.xn--p1ai/keys'])(
  'a provider may name %s',
  (url) => {
    expect(isOwnAddress(new URL(url), issuer)).toBe(true);
  },
);

it.each([
  'http://accounts.example.com/token',
  'https://accounts.example.com:8443/token',
  'https://127.0.0.1/',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://[::1]/',
  'https://[::ffff:10.0.0.1]/',
  'https://10.0.0.1/',
  'https://localhost/',
  'https://a.localhost/',
  'https://mongo/',
  'https://printer.local/',
  'https://metadata.google.internal/',
  'https://event-store.example.com:2113/',
  'ftp://accounts.example.com/',
  'file:///etc/passwd',
  'javascript:alert(1)',
])('a provider may not name %s', (url) => {
  expect(isOwnAddress(new URL(url), issuer)).toBe(false);
});
