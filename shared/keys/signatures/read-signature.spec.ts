import { expect, it } from '@jest/globals';
import { readSignature } from './read-signature.ts';

const signature = `0x${'aB'.repeat(65)}`;

it('a signature is 65 bytes in hex, and read in lower case', () => {
  expect(readSignature(signature)).toBe(signature.toLowerCase());
});

it.each([signature.slice(0, -1), `${signature}0`, signature.slice(2), `0x${'ag'.repeat(65)}`, ` ${signature}`, ''])(
  'the text %j is refused as a signature',
  (text) => {
    expect(() => readSignature(text)).toThrow(expect.objectContaining({ code: 'signature_malformed' }));
  },
);
