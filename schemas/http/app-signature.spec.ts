import { expect, it } from '@jest/globals';
import { v1Text, v2Text } from './app-signature.ts';

const call = { origin: 'https://Shop.example:8443', timestamp: '1700000000000', apiKey: 'AK_1' };

it('an app signs, by scheme v1, the host name of its origin, the time and its key, in lower case', () => {
  expect(v1Text(call)).toBe('shop.example:1700000000000:ak_1');
});

it('an app signs, by scheme v2, the whole request, line by line', () => {
  expect(v2Text({ ...call, method: 'POST', url: '/auth/web3?a=B', bodyHash: 'c0ffee' })).toBe(
    'v2\nPOST\n/auth/web3?a=B\n1700000000000\nhttps://Shop.example:8443\nAK_1\nc0ffee',
  );
});
