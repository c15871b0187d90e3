import { describe, expect, it } from '@jest/globals';
import type { WindowBlock } from '../../../../schemas/events/event-catcher/chain-events.ts';
import {
  lastBlockOf,
  newJoiningRange,
  findJoiningRange,
  findRange,
  liveWatches,
  rangeId,
  type Coverage,
  type Range,
} from './coverage.ts';
import type { Window } from '../../../../shared/chain/window.ts';

const joining: Range = { watchId: 'a', from: 4, next: 6, to: 10, joins: true };
const extension: Range = { watchId: 'b', from: 1, next: 2, to: 3, joins: false };
const coverage: Coverage = { backfills: [extension, joining], deferred: new Map(), watchesUpTo: 30 };
const window: Window<WindowBlock> = [
  { number: 12, hash: '12', parentHash: '11', timestamp: 0, since: 0 },
  { number: 13, hash: '13', parentHash: '12', timestamp: 0, since: 0 },
];

describe('the coverage of a watch', () => {
  it('makes it live when it has no joining range', () => {
    const watches = ['a', 'b', 'c'].map((id) => ({ id, startBlock: 0 }));
    expect(liveWatches(coverage, watches).map(({ id }) => id)).toEqual(['b', 'c']);
    expect(findJoiningRange(coverage, 'a')).toBe(joining);
    expect(findJoiningRange(coverage, 'b')).toBeUndefined();
  });
});

describe('a range that is still to be read', () => {
  it('ends at the final block if it joins, and grows as blocks become final', () => {
    expect(newJoiningRange(window, { id: 'a', startBlock: 4 })).toEqual({ ...joining, next: 4, to: 12 });
    expect(lastBlockOf(window, joining)).toBe(12);
    expect(lastBlockOf(window, { ...joining, to: 13 })).toBe(13);
    expect(lastBlockOf(window, extension)).toBe(3);
    expect(lastBlockOf(window, { ...extension, to: 13 })).toBe(12);
  });

  it('is found again however far it has been read', () => {
    expect(rangeId({ ...joining, from: 0, next: 8, to: 12 })).toBe(rangeId(joining));
    expect(rangeId({ ...extension, next: 3 })).toBe(rangeId(extension));
    const others = [{ ...joining, watchId: 'b' }, { ...extension, to: 0 }, { ...extension, watchId: 'c' }, joining];
    for (const other of others) expect(rangeId(other)).not.toBe(rangeId(extension));
  });

  it('is found as it is now until it is finished, among all of its watch and of others', () => {
    const joiningToo: Range = { ...joining, watchId: 'b' };
    const otherExtension: Range = { ...extension, watchId: 'a' };
    const backfills = [otherExtension, joiningToo, joining, extension];
    for (const range of backfills) expect(findRange({ ...coverage, backfills }, { ...range, next: 0 })).toBe(range);
    expect(findRange({ ...coverage, backfills: [otherExtension, joiningToo] }, extension)).toBeUndefined();
    expect(findRange({ ...coverage, backfills: [{ ...extension, to: 9 }] }, extension)).toBeUndefined();
  });
});
