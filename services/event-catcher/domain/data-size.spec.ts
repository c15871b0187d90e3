import { describe, expect, it } from '@jest/globals';
import { DATA_BYTES_MAX, isTooLarge } from './data-size.ts';

describe('a decoded log', () => {
  it('is not measured further than to where it is too large', () => {
    const values = ['x'.repeat(DATA_BYTES_MAX), 'never looked at'];
    Object.defineProperty(values, 1, {
      get: () => {
        throw new Error('it was measured to its end');
      },
    });
    expect(isTooLarge({ values }, '0x'.padEnd(10_000, '0'))).toBe(true);
  });
});
