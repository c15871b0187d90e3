import { describe, expect, it } from '@jest/globals';
import { encodeToken, sha256, systemIds } from './ids.ts';

describe('a token', () => {
  it('has a character for the lower five bits of each byte', () => {
    const all = '0123456789abcdefghjkmnpqrstvwxyz';
    expect(
      encodeToken(
        Uint8Array.from({ length: 33 }, (_, at) => at + 224),
        32,
      ),
    ).toBe(all);
    expect(encodeToken(Uint8Array.of(1, 2, 3), 2)).toBe('12');
  });

  it('is another each time', () => {
    const tokens = Array.from({ length: 100 }, () => systemIds.token(26));
    for (const token of tokens) expect(token).toMatch(/^[0-9a-z]{26}$/);
    expect(new Set(tokens).size).toBe(100);
  });
});

it('a UUID is another each time', () => {
  expect(systemIds.uuid()).toMatch(/^[0-9a-f-]{36}$/);
  expect(systemIds.uuid()).not.toBe(systemIds.uuid());
});

it('a digest is SHA-256 in lower-case hex', () => {
  // FIPS 180-4, "abc".
  const digest = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
  expect(sha256('abc')).toBe(digest);
  expect(sha256(Buffer.from('abc'))).toBe(digest);
});
