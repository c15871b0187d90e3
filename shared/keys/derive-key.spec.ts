import { expect, it } from '@jest/globals';
import { deriveKey } from './derive-key.ts';

const masterKey = Buffer.alloc(32, 1);

it('a derived key is that of RFC 5869 with SHA-256, which stays the same for ever: what it sealed is stored', () => {
  const ofCursors = 'a6a2a1c0378e5207f5f1d3198fcbcb162d5c7bfde2aa9e9006dbb32ac39484e5';
  expect(deriveKey(masterKey, 'cursors').toString('hex')).toBe(ofCursors);
});

it('each purpose and each master key has a derived key of its own', () => {
  const key = deriveKey(masterKey, 'cursors');
  expect(deriveKey(masterKey, 'answers')).not.toEqual(key);
  expect(deriveKey(Buffer.alloc(32, 2), 'cursors')).not.toEqual(key);
});
