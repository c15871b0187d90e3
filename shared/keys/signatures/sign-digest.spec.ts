import { hexlify, SigningKey } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { signInJavaScript } from './sign-digest.ethers.ts';
import { libsecp256k1 } from './libsecp256k1.secp256k1.ts';
import { signDigest } from './sign-digest.ts';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const aKey = fc
  .bigInt({ min: 1n, max: ORDER - 1n })
  .map((secret) => Buffer.from(secret.toString(16).padStart(64, '0'), 'hex'));
const aDigest = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe('a signature', () => {
  it('is that of ethers, whichever library made it', () => {
    fc.assert(
      fc.property(aKey, aDigest, (key, digest) => {
        const expected = new SigningKey(hexlify(key)).sign(digest).serialized;
        for (const sign of [signDigest, signInJavaScript]) {
          expect(hexlify(sign(key, digest))).toBe(expected);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('is made by the fast library on the machines that it has a binary for', () => {
    const machines = ['linux-x64', 'darwin-arm64', 'win32-x64'];
    expect(libsecp256k1 !== undefined || !machines.includes(`${process.platform}-${process.arch}`)).toBe(true);
  });

  it('is not made with what is no key', () => {
    for (const secret of [0n, ORDER]) {
      const key = Buffer.from(secret.toString(16).padStart(64, '0'), 'hex');
      for (const sign of [signDigest, signInJavaScript]) expect(() => sign(key, Buffer.alloc(32, 1))).toThrow();
    }
  });
});
