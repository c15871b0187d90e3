import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  BLOOM_OF_EVERYTHING,
  BLOOM_OF_NOTHING,
  bloomBits,
  bloomMayContain,
  bloomMayPass,
  bloomOf,
  chanceInBloom,
  isPartOfBloom,
} from './bloom.ts';

const hex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((array) => `0x${Buffer.from(array).toString('hex')}`);
const log = fc.record({ address: hex(20), topics: fc.array(hex(32), { maxLength: 4 }) });

const CONTRACT = '0xd8da6bf26964af9d7eed9e03e53415d37aa96045';
const OTHER = '0x5fbdb2315678afecb367f032d93f642f64180aa3';
const TOPIC = `0x${'1'.repeat(64)}`;
const bloomWith = (...bits: number[]): string =>
  `0x${bits
    .reduce((sum, bit) => sum | (1n << BigInt(bit)), 0n)
    .toString(16)
    .padStart(512, '0')}`;

describe('a bloom', () => {
  it('has three bits for each item: the first three pairs of bytes of its hash, modulo 2048', () => {
    // keccak-256 of the contract begins 06e1 20c2 c354.
    expect(bloomBits(CONTRACT)).toEqual([0x6e1, 0x0c2, 0x354]);
    expect(bloomOf([{ address: CONTRACT, topics: [] }])).toBe(bloomWith(0x6e1, 0x0c2, 0x354));
    expect(bloomOf([])).toBe(BLOOM_OF_NOTHING);
  });

  it('has the bits of an item by chance the more often the more bits are set, and the more items there are', () => {
    const half = `0x${'3c'.repeat(256)}`;
    expect(chanceInBloom(half, 1)).toBeCloseTo(1 / 8);
    expect(chanceInBloom(half, 2)).toBeCloseTo(15 / 64);
    expect(chanceInBloom(half, 1_000)).toBeCloseTo(1);
    expect(chanceInBloom(bloomWith(...Array.from({ length: 20 }, (_, bit) => bit)), 1)).toBeLessThan(1e-6);
    expect([chanceInBloom(half, 0), chanceInBloom(BLOOM_OF_NOTHING, 1_000)]).toEqual([0, 0]);
    expect(chanceInBloom(BLOOM_OF_EVERYTHING, 1)).toBe(1);
  });

  it('may contain an item if it has all three of its bits', () => {
    const bits = bloomBits(CONTRACT);
    expect(bloomMayContain(bloomWith(0x6e1, 0x0c2, 0x354, 7), bits)).toBe(true);
    for (const part of [
      [0x6e1, 0x0c2],
      [0x6e1, 0x354],
      [0x0c2, 0x354],
    ]) {
      expect(bloomMayContain(bloomWith(...part, 7), bits)).toBe(false);
    }
  });

  it('may pass a filter if it has one of the addresses and one of the topics, or the filter has none', () => {
    const bloom = bloomOf([{ address: CONTRACT, topics: [TOPIC] }]);
    expect(bloomMayPass(bloom, { addresses: [OTHER, CONTRACT], topics: [OTHER, TOPIC] })).toBe(true);
    expect(bloomMayPass(bloom, { addresses: [OTHER], topics: [TOPIC] })).toBe(false);
    expect(bloomMayPass(bloom, { addresses: [CONTRACT], topics: [OTHER] })).toBe(false);
    expect(bloomMayPass(bloom, { addresses: [], topics: [] })).toBe(true);
  });

  it('is part of another bloom that has all of its bits', () => {
    expect(isPartOfBloom(bloomWith(1, 9), bloomWith(1, 5, 9))).toBe(true);
    expect(isPartOfBloom(bloomWith(1, 9), bloomWith(1, 5))).toBe(false);
  });

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

  it('contains the bloom of any subset of its logs', () => {
    fc.assert(
      fc.property(fc.array(log), fc.array(log), (some, more) => {
        expect(isPartOfBloom(bloomOf(some), bloomOf([...some, ...more]))).toBe(true);
      }),
    );
  });

  it('rules out every log if no bit is set, and none if all bits are set', () => {
    const bits = bloomBits('0x01');
    expect(bloomMayContain(BLOOM_OF_NOTHING, bits)).toBe(false);
    expect(bloomMayContain(BLOOM_OF_EVERYTHING, bits)).toBe(true);
    expect(isPartOfBloom(BLOOM_OF_EVERYTHING, BLOOM_OF_NOTHING)).toBe(false);
  });
});
