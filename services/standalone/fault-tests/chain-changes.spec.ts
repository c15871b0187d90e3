import { describe, expect, it } from '@jest/globals';
import { recordsAfter, type ChainChange } from './chain-changes.ts';

const observed = (id: string): ChainChange => ({ change: 'observed', id });
const reverted = (id: string): ChainChange => ({ change: 'reverted', id });

describe('changes of a chain', () => {
  it('leave the records that are not reverted, in the order of their last observation', () => {
    const changes = [observed('a'), observed('b'), observed('c'), reverted('c'), reverted('a'), observed('a')];
    expect(recordsAfter(changes)).toEqual({ records: ['b', 'a'], repeated: [] });
  });

  it('are repeated when they observe a record that is canonical, or revert one that is not', () => {
    const changes = [observed('a'), observed('a'), reverted('a'), reverted('a'), reverted('b')];
    expect(recordsAfter(changes).repeated).toEqual([observed('a'), reverted('a'), reverted('b')]);
  });
});
