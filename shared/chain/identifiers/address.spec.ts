import { describe, expect, it } from '@jest/globals';
import { getAddress, keccak256, toUtf8Bytes } from 'ethers';
import fc from 'fast-check';
import { CHAINS_WITH_CHECKSUMS, checksumAddress, readAddress, readAddressMember } from './address.ts';

/** The examples of EIP-55. */
const examples = [
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0xde709f2102306220921060314715629080e2fb77',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
];
const digits = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('hex'));

describe('an address', () => {
  it.each(examples)('is read in lower, upper and mixed case, and returned in EIP-55 form: %s', (address) => {
    expect(readAddress(address)).toBe(address);
    expect(readAddress(address.toLowerCase())).toBe(address);
    expect(readAddress(`0x${address.slice(2).toUpperCase()}`)).toBe(address);
  });

  it('has the same checksum as in ethers', () => {
    fc.assert(fc.property(digits, (some) => checksumAddress(some) === getAddress(`0x${some}`)));
  });

  it('is refused in mixed case with a wrong checksum', () => {
    expect(readAddress('0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed')).toBeUndefined();
  });

  it.each([
    // The examples of EIP-1191.
    [30, '0x5aaEB6053f3e94c9b9a09f33669435E7ef1bEAeD'],
    [30, '0xFb6916095cA1Df60bb79ce92cE3EA74c37c5d359'],
    [30, '0xDBF03B407c01E7CD3cBea99509D93F8Dddc8C6FB'],
    [31, '0x5aAeb6053F3e94c9b9A09F33669435E7EF1BEaEd'],
  ])('of chain %s is read with its checksum, and returned in EIP-55 form: %s', (chainId, written) => {
    const returned = getAddress(written.toLowerCase());
    expect(readAddress(written, [chainId])).toBe(returned);
    expect(readAddress(returned, [chainId])).toBe(returned);
    expect(readAddress(written, CHAINS_WITH_CHECKSUMS)).toBe(returned);
    expect(readAddressMember('contractAddress', written, [chainId])).toBe(returned);
    for (const others of [undefined, [1], [chainId === 30 ? 31 : 30]]) {
      expect(readAddress(written, others)).toBeUndefined();
    }
    const [, digits = ''] = written.split('0x');
    const wrong = `0x${Array.from(digits, (digit) => (digit === 'a' ? 'A' : digit === 'A' ? 'a' : digit)).join('')}`;
    expect(readAddress(wrong, [chainId])).toBeUndefined();
  });

  it('of another chain has no checksum of its own', () => {
    // EIP-1191 of chain 1 would be this.
    const digits = '5aaeb6053f3e94c9b9a09f33669435e7ef1beaed';
    const hashed = keccak256(toUtf8Bytes(`10x${digits}`)).slice(2);
    const written = `0x${Array.from(digits, (digit, at) => (hashed.charCodeAt(at) >= 0x38 ? digit.toUpperCase() : digit)).join('')}`;
    expect(readAddress(written, [1])).toBeUndefined();
  });

  it('has the same checksum again, also after others that end alike or differ in one digit', () => {
    const ending = digits.map((some) => `${some.slice(0, -3)}abc`);
    const changed = (some: string, at: number) =>
      `${some.slice(0, at)}${some[at] === '1' ? '2' : '1'}${some.slice(at + 1)}`;
    fc.assert(
      fc.property(ending, fc.nat(39), (some, at) => {
        for (const one of [some, changed(some, at), some, some]) {
          expect(checksumAddress(one)).toBe(getAddress(`0x${one}`));
        }
      }),
    );
  });

  it.each([
    '',
    '0x',
    '5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe',
    `${String(examples[0])}0`,
    `0x${'g'.repeat(40)}`,
    `${String(examples[0])}\n`,
  ])('is not accepted: %j', (text) => {
    expect(readAddress(text)).toBeUndefined();
  });

  it('in a request is refused with the name of its member', () => {
    expect(readAddressMember('signer', String(examples[0]).toLowerCase())).toBe(examples[0]);
    expect(() => readAddressMember('signer', '0x12')).toThrow('validation_failed: signer: is not an address');
  });
});
