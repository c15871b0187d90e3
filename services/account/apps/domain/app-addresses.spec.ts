import { describe, expect, it } from '@jest/globals';
import { refusalBy } from '../../../../shared/testing/given.ts';
import { checkRedirectUri, normaliseOrigin } from './app-addresses.ts';

describe('the origin of an app', () => {
  it.each([
    ['https://shop.example', 'https://shop.example'],
    ['HTTPS://Shop.Example:443/', 'https://shop.example'],
    ['https://shop.example:8443', 'https://shop.example:8443'],
    ['http://localhost:5173', 'http://localhost:5173'],
    ['http://127.0.0.1:5173', 'http://127.0.0.1:5173'],
    ['http://[::1]:5173', 'http://[::1]:5173'],
  ])('%s is normalised to %s, as browsers send it', (text, origin) => {
    expect(normaliseOrigin(text, { allowLocalHttp: true })).toBe(origin);
  });

  it.each([
    ['shop.example', /URL/],
    ['https://', /URL/],
    ['https://ada@shop.example', /user name/],
    ['https://:secret@shop.example', /user name/],
    ['http://shop.example', /https/],
    ['http://localhost.shop.example', /https/],
    ['ftp://localhost', /https/],
    ['https://shop.example/cart', /more than scheme, host and port/],
    ['https://shop.example/?cart=1', /more than scheme, host and port/],
    ['https://shop.example/#cart', /more than scheme, host and port/],
    ['https://shop".example', /character/],
    ['https://{shop}.example', /character/],
    ['https://*.shop.example', /more than scheme, host and port/],
  ])('%s is refused', (text, why) => {
    const refusal = refusalBy(() => normaliseOrigin(text, { allowLocalHttp: true }));
    expect(refusal).toMatchObject({
      code: 'validation_failed',
      detail: expect.stringContaining(`origin ${text} `),
      errors: [{ path: 'origin', message: expect.stringMatching(why) }],
    });
    expect(refusal.detail).toMatch(why);
  });
});

describe('plain HTTP of this machine', () => {
  it.each(['http://localhost:5173', 'http://127.0.0.1', 'http://[::1]'])('is refused in production: %s', (text) => {
    for (const read of [normaliseOrigin, checkRedirectUri]) {
      expect(refusalBy(() => read(text, { allowLocalHttp: false })).detail).toMatch(/is not https/);
    }
  });
});

describe('a redirect URI of an app', () => {
  it.each(['https://shop.example/back?from=annals', 'http://localhost:5173/back', 'HTTPS://Shop.Example'])(
    '%s is kept as it is written',
    (text) => {
      expect(checkRedirectUri(text, { allowLocalHttp: true })).toBe(text);
    },
  );

  it.each([
    ['back', /URL/],
    ['https://ada@shop.example/back', /user name/],
    ['http://shop.example/back', /https/],
    ['https://shop.example/back#top', /fragment/],
  ])('%s is refused', (text, why) => {
    expect(refusalBy(() => checkRedirectUri(text, { allowLocalHttp: true }))).toMatchObject({
      code: 'validation_failed',
      errors: [{ path: 'redirectUri', message: expect.stringMatching(why) }],
    });
  });
});
