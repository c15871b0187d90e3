import { describe, expect, it } from '@jest/globals';
import { standingAfter, type ChainChange } from './chain-changes.ts';

const observed = (id: string): ChainChange => ({ change: 'observed', id });
const reverted = (id: string): ChainChange => ({ change: 'reverted', id });

describe('changes of a chain', () => {
  it('leave what was not taken back, in the order in which it was last seen', () => {
    const told = [observed('a'), observed('b'), observed('c'), reverted('c'), reverted('a'), observed('a')];
    expect(standingAfter(told)).toEqual({ standing: ['b', 'a'], noNews: [] });
  });

  it('are no news when a record is seen while it stands, or taken back while it does not', () => {
    const told = [observed('a'), observed('a'), reverted('a'), reverted('a'), reverted('b')];
    expect(standingAfter(told).noNews).toEqual([observed('a'), reverted('a'), reverted('b')]);
  });
});
