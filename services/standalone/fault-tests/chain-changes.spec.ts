import { describe, expect, it } from '@jest/globals';
import { recordsAfter, type ChainChange } from './chain-changes.ts';

const observed = (id: string): ChainChange => ({ change: 'observed', id });
const reverted = (id: string): ChainChange => ({ change: 'reverted', id });

describe('changes of a chain', () => {
  it('leave what was not taken back, in the order in which it was last seen', () => {
    const told = [observed('a'), observed('b'), observed('c'), reverted('c'), reverted('a'), observed('a')];
    expect(recordsAfter(told)).toEqual({ records: ['b', 'a'], repeated: [] });
  });

  it('are repeated when a record is seen while it is there, or taken back while it is not', () => {
    const told = [observed('a'), observed('a'), reverted('a'), reverted('a'), reverted('b')];
    expect(recordsAfter(told).repeated).toEqual([observed('a'), reverted('a'), reverted('b')]);
  });
});
