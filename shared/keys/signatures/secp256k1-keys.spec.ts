import { createECDH } from 'node:crypto';
import { jest, expect, it } from '@jest/globals';
import { computeAddress, hexlify } from 'ethers';
import { addressOfKey, addressOfPoint, newPrivateKey, pointByOpenSsl } from './secp256k1-keys.ts';

it('a private key has 32 bytes, and the address that ethers gives it', () => {
  for (let times = 0; times < 20; times += 1) {
    const key = newPrivateKey();
    expect(key).toHaveLength(32);
    for (const address of [addressOfKey(key), addressOfPoint(pointByOpenSsl(key))])
      expect(address).toBe(computeAddress(hexlify(key)));
  }
});

it('a private key that begins with zeros has 32 bytes too', () => {
  const short = Buffer.from('01'.repeat(30), 'hex');
  const curve = Object.getPrototypeOf(createECDH('secp256k1')) as { getPrivateKey: () => Buffer };
  const shortened = jest.spyOn(curve, 'getPrivateKey').mockReturnValueOnce(short);
  const key = newPrivateKey();
  shortened.mockRestore();
  expect(key.toString('hex')).toBe(`0000${'01'.repeat(30)}`);
  expect(addressOfKey(key)).toBe(computeAddress(hexlify(key)));
});
