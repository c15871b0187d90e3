import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  BLOOM_OF_EVERYTHING,
  BLOOM_OF_NOTHING,
  bloomBits,
  bloomMayContain,
  bloomMayPass,
  bloomOf,
  isPartOfBloom,
} from './bloom.ts';

const hex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((array) => `0x${Buffer.from(array).toString('hex')}`);
const log = fc.record({ address: hex(20), topics: fc.array(hex(32), { maxLength: 4 }) });

describe('a bloom', () => {
  it('never rules out a log that is in the block', () => {
    fc.assert(
      fc.property(fc.array(log, { minLength: 1 }), (logs) => {
        const bloom = bloomOf(logs);
        for (const { address, topics } of logs) {
          expect(bloomMayPass(bloom, { addresses: [address], topics: topics.slice(0, 1) })).toBe(true);
        }
      }),
    );
  });

  it('contains the bloom of each part of its logs', () => {
    fc.assert(
      fc.property(fc.array(log), fc.array(log), (some, more) => {
        expect(isPartOfBloom(bloomOf(some), bloomOf([...some, ...more]))).toBe(true);
      }),
    );
  });

  it('rules out every log when no bit is set, and none when all bits are', () => {
    const bits = bloomBits('0x01');
    expect(bloomMayContain(BLOOM_OF_NOTHING, bits)).toBe(false);
    expect(bloomMayContain(BLOOM_OF_EVERYTHING, bits)).toBe(true);
    expect(isPartOfBloom(BLOOM_OF_EVERYTHING, BLOOM_OF_NOTHING)).toBe(false);
  });
});
