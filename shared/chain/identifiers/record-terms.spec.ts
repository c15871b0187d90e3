import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../schemas/json.ts';
import { placeOf, placesOf, segmentOf, termOf, termOfAll, termsOf } from './record-terms.ts';

const TxHash = `0x${'a'.repeat(64)}`;
const canonical = { watchId: 'wch_1', reverted: false };
const reverted = { ...canonical, reverted: true };
const terms = (Data: JsonObject, records = canonical) => termsOf(records, { TxHash, Data });

describe('the terms of a record', () => {
  it('are stored: the same for ever', () => {
    expect(terms({ value: '7' })).toEqual([1_448_956_116_251_073, 3_785_264_557_428_026, 3_457_159_130_427_880]);
    expect(segmentOf('wch_1', 3)).toBe(3_335_808_280_952_835);
  });

  it('are those by which it is searched for', () => {
    const hash = `0x${'b'.repeat(64)}`;
    expect(terms({ to: '0x1', isNew: false, topic: { hash } })).toEqual([
      termOfAll(canonical),
      termOf(canonical, { txHash: TxHash }),
      termOf(canonical, { argument: 'to', value: '0x1' }),
      termOf(canonical, { argument: 'isNew', value: false }),
      termOf(canonical, { argument: 'topic', hash }),
    ]);
  });

  it('are other ones for each watch, status, member and value', () => {
    const all = [
      ...terms({ a: 'x', b: 'x', c: { hash: 'x' }, d: 'y' }),
      ...terms({ a: 'x', d: TxHash }, reverted),
      ...terms({ a: 'x' }, { ...canonical, watchId: 'wch_2' }),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  it('are of scalars and hashes only, and of no more than the first 64 arguments', () => {
    expect(terms({ list: ['x'], tuple: { a: 'x' }, nothing: null })).toHaveLength(2);
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`a${String(at)}`, 'x']));
    expect(terms(many)).toHaveLength(2 + 64);
    expect(terms(many)).not.toContain(termOf(canonical, { argument: 'a64', value: 'x' }));
  });
});

describe('places', () => {
  it('sort as logs do, and are safe integers for any log', () => {
    const logs = [
      [0, 0],
      [0, 1],
      [9, 131_071],
      [10, 0],
      [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ].map(([BlockNumber = 0, LogIndex = 0]) => placeOf({ BlockNumber, LogIndex }));
    expect(logs.toSorted((one, other) => one - other)).toEqual(logs);
    expect(logs.every(Number.isSafeInteger)).toBe(true);
    expect(new Set(logs).size).toBe(5);
  });

  it('of blocks are those of all their logs, and none of others', () => {
    const { from, to } = placesOf(5, 6);
    const place = (BlockNumber: number, LogIndex: number) => placeOf({ BlockNumber, LogIndex });
    expect([place(5, 0) >= from, place(6, 999_999) <= to]).toEqual([true, true]);
    expect([place(4, 999_999) < from, place(7, 0) > to]).toEqual([true, true]);
    expect(placesOf(0, Infinity).to).toBe(Number.MAX_SAFE_INTEGER - 2 ** 17);
    expect(placesOf(0, -1).to).toBeLessThan(0);
  });
});

describe('segments', () => {
  it('are safe integers, another one for each index of a watch', () => {
    const numbers = [0, 1, 2_097_151].map((index) => segmentOf('wch_1', index));
    expect(new Set(numbers).size).toBe(3);
    expect(numbers.every(Number.isSafeInteger)).toBe(true);
  });
});
