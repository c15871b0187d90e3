import { verifyMessage, Wallet } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { randomWallet } from '../../testing/http/random-wallet.ethers.ts';
import { recoverInJavaScript } from './recover-signer.ethers.ts';
import { isNative, recoverSigner } from './recover-signer.ts';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const word = (value: bigint) => value.toString(16).padStart(64, '0');
const key = fc.bigInt({ min: 1n, max: ORDER - 1n }).map((secret) => new Wallet(`0x${word(secret)}`));
const text = fc.string({ unit: 'binary', maxLength: 300 });

/** Numbers at the limits of the parts of a signature. */
const border = fc
  .tuple(fc.constantFrom(0n, ORDER / 2n, ORDER, 2n ** 256n - 1n), fc.bigInt({ min: -2n, max: 2n }))
  .map(([at, off]) => word(BigInt.asUintN(256, at + off)));
const scalar = fc.oneof(
  border,
  fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map(word),
  fc.bigInt({ min: 1n, max: ORDER / 2n }).map(word),
);
/** ethers takes any s whose first bit is clear for low, which is 2¹²⁷ numbers more. */
const isLow = (s: string) => BigInt(`0x${s}`) <= ORDER / 2n;
const byEthers = (signed: string, signature: string) => {
  try {
    return verifyMessage(signed, signature);
  } catch {
    return undefined;
  }
};
const ACCEPTED = ['00', '01', '1b', '1c'];
/** Of a larger byte ethers takes the lowest bit, as EIP-155 writes it for transactions. */
const recoveryByte = fc.constantFrom(...ACCEPTED, ...ACCEPTED, '02', '03', '1a', '1d', '23', 'ff');

describe('who signed a text', () => {
  it('is found by the fast library on the machines that it has a binary for', () => {
    const machines = ['linux-x64', 'darwin-arm64', 'win32-x64'];
    expect(isNative || !machines.includes(`${process.platform}-${process.arch}`)).toBe(true);
  });

  it('is the owner of the key, as ethers says, whether the last byte counts from 0 or from 27', () => {
    fc.assert(
      fc.property(key, text, fc.boolean(), (wallet, signed, isShort) => {
        const long = wallet.signMessageSync(signed);
        const signature = isShort ? long.slice(0, -2) + (long.endsWith('1b') ? '00' : '01') : long;
        expect(recoverSigner(signed, signature)).toBe(wallet.address);
        expect(recoverInJavaScript(signed, signature)).toBe(wallet.address);
      }),
      { numRuns: 100 },
    );
  });

  it('is nobody for the other signature that can be made of one', () => {
    fc.assert(
      fc.property(key, text, (wallet, signed) => {
        const signature = wallet.signMessageSync(signed);
        const turned = word(ORDER - BigInt(`0x${signature.slice(66, 130)}`));
        const other = signature.slice(0, 66) + turned + (signature.endsWith('1b') ? '1c' : '1b');
        expect(recoverSigner(signed, other)).toBeUndefined();
      }),
      { numRuns: 50 },
    );
  });

  it('is what ethers says of signatures that nobody made', () => {
    fc.assert(
      fc.property(text, scalar, scalar, recoveryByte, (signed, r, s, last) => {
        const signature = `0x${r}${s}${last}`;
        const expected = isLow(s) && ACCEPTED.includes(last) ? byEthers(signed, signature) : undefined;
        expect(recoverSigner(signed, signature)).toBe(expected);
        expect(recoverInJavaScript(signed, signature)).toBe(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('is nobody for text that is not well-formed Unicode', () => {
    const signature = randomWallet().signMessageSync('\ufffd');
    for (const recover of [recoverSigner, recoverInJavaScript]) expect(recover('\ud800', signature)).toBeUndefined();
  });
});
