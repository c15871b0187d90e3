import { expect, it } from '@jest/globals';
import { passes } from './log-filter.ts';

const log = {
  ...{ address: '0xa', topics: ['0x1', '0x2'], data: '0x', blockNumber: 1, blockHash: '0xb' },
  ...{ blockTimestamp: undefined, txHash: '0xc', txIndex: 0, logIndex: 0 },
};

it.each([
  [{ addresses: [], topics: [] }, true],
  [{ addresses: ['0xb', '0xa'], topics: [] }, true],
  [{ addresses: ['0xb'], topics: [] }, false],
  [{ addresses: [], topics: ['0x3', '0x1'] }, true],
  [{ addresses: [], topics: ['0x2'] }, false],
  [{ addresses: ['0xa'], topics: ['0x2'] }, false],
  [{ addresses: ['0xb'], topics: ['0x1'] }, false],
])('a log passes by its address and its first topic: %j %s', (filter, expected) => {
  expect(passes(log, filter)).toBe(expected);
});

it('a log without topics passes only a filter without topics', () => {
  expect(passes({ ...log, topics: [] }, { addresses: [], topics: [] })).toBe(true);
  expect(passes({ ...log, topics: [] }, { addresses: [], topics: ['0x1'] })).toBe(false);
});
