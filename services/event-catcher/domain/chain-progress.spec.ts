import { describe, expect, it } from '@jest/globals';
import type { WindowBlock } from '../../../schemas/events/event-catcher/chain-events.ts';
import {
  advance,
  initialProgress,
  fallBehind,
  resetProgress,
  blocksToFinish,
  cover,
  rewind,
  hasOnlyCovered,
  isCovered,
  finish,
  defer,
  replaceWindow,
  skipAhead,
  stopWatch,
  storedAt,
  resumeDeferred,
  addWatch,
  extendWatch,
  setWatchesUpTo,
  type ChainProgress,
  type Transition,
} from './chain-progress.ts';
import { liveWatches, type Range } from './backfill/coverage.ts';
import type { Header } from './window/window.ts';
import type { Window } from '../../../shared/chain/window.ts';

const header = (number: number, branch = ''): Header => ({
  number,
  hash: `${String(number)}${branch}`,
  parentHash: String(number - 1),
  timestamp: 1_000 + number,
});
const block = (number: number, since: number): WindowBlock => ({ ...header(number), since });
const headers = (first: number): Window<Header> => [header(first), header(first + 1), header(first + 2)];

/** Progress up to block 12. Block 10 is final, and the newest `ChainAdvanced` is at position 50. */
const progress: ChainProgress = {
  window: [block(10, 40), block(11, 40), block(12, 50)],
  anchors: [],
  backfills: [],
  deferred: new Map(),
  watchesUpTo: 30,
  position: 50,
};
const joining = (next: number, to = 10): Range => ({ watchId: 'w', from: 4, next, to, joins: true });
const extension = (next: number): Range => ({ watchId: 'w', from: 1, next, to: 3, joins: false });
const reading = (...backfills: Range[]): ChainProgress => ({ ...progress, backfills });
const watch = { id: 'w', startBlock: 4 };
const numbers = (blocks: readonly WindowBlock[]) => blocks.map(({ number }) => number);

/** Freezes a value deeply, so that a transition that changes its input fails. */
const frozen = <Value>(value: Value): Value => {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
};
const after = (before: ChainProgress, ...transitions: Transition[]): ChainProgress =>
  transitions.reduce((value, transition) => frozen(transition(value)), frozen(before));

describe('the progress of a chain', () => {
  it('begins with a window, no ranges and no watches', () => {
    expect(initialProgress(headers(10), 50)).toEqual({
      window: [block(10, 50), block(11, 50), block(12, 50)],
      anchors: [],
      backfills: [],
      deferred: new Map(),
      watchesUpTo: 0,
      position: 50,
    });
  });

  it('is reset to a new window without watches, and keeps its position', () => {
    expect(after(reading(joining(4)), resetProgress(headers(0)))).toEqual(initialProgress(headers(0), 50));
  });

  it('takes the position at which it was stored', () => {
    expect(after(progress, storedAt(60))).toEqual({ ...progress, position: 60 });
  });
});

describe('the window of the progress', () => {
  it('is extended by the block after the tip, and drops blocks that are final by now', () => {
    expect(after(progress, advance(header(13), { number: 11 })).window).toEqual([
      block(11, 40),
      block(12, 50),
      block(13, 50),
    ]);
    expect(after(progress, advance(header(13), { number: 10 })).window).toHaveLength(4);
  });

  it.each([
    ['is in the window', header(12)],
    ['leaves a gap', header(14)],
    ['is on another branch', { ...header(13), parentHash: '12x' }],
    ['has the wrong number', { ...header(13), number: 14 }],
  ])('is not extended by a block that %s', (_what, wrong) => {
    expect(() => after(progress, advance(wrong, { number: wrong.number - 2 }))).toThrow(
      `block ${wrong.hash} does not follow the tip`,
    );
  });

  it('is rewound to one of its blocks, and to no other', () => {
    expect(numbers(after(progress, rewind('11')).window)).toEqual([10, 11]);
    expect(numbers(after(progress, rewind('10')).window)).toEqual([10]);
    expect(() => after(progress, rewind('9'))).toThrow('block 9 is not in the window');
  });
});

describe('skipping ahead', () => {
  it('gives each live watch a range for the skipped blocks', () => {
    const other: Range = { watchId: 'other', from: 0, next: 7, to: 10, joins: true };
    const watches = [watch, { id: 'other', startBlock: 0 }, { id: 'later', startBlock: 600 }];
    const { window, backfills } = after(reading(extension(2), other), skipAhead(headers(900), 11, watches));
    expect(window).toEqual([block(900, 50), block(901, 50), block(902, 50)]);
    expect(backfills).toEqual([
      extension(2),
      other,
      { watchId: 'w', from: 12, next: 12, to: 900, joins: true },
      { watchId: 'later', from: 600, next: 600, to: 900, joins: true },
    ]);
  });

  it('is possible from a block of the window to a later one only', () => {
    expect(after(progress, skipAhead(headers(11), 10, [])).window[0].number).toBe(11);
    expect(() => after(progress, skipAhead(headers(900), 9, []))).toThrow('the new window is not ahead of the old one');
    expect(() => after(progress, skipAhead(headers(12), 12, []))).toThrow('the new window is not ahead of the old one');
  });
});

describe('a chain that lost final blocks', () => {
  it('has a watch read up to the new window, where the watch was reading later blocks', () => {
    const { window, backfills } = after(reading(joining(9)), replaceWindow(headers(6), 5, [watch]));
    expect(numbers(window)).toEqual([6, 7, 8]);
    expect(backfills).toEqual([joining(6, 6)]);
  });
});

describe('a watch that is added', () => {
  it('is read from its start to the final block, and then joins', () => {
    expect(after(reading(extension(2)), addWatch({ id: 'new', startBlock: 7 }, 31))).toEqual({
      ...progress,
      backfills: [extension(2), { watchId: 'new', from: 7, next: 7, to: 10, joins: true }],
      watchesUpTo: 31,
    });
  });

  it('is added once, in the order of registrations', () => {
    const refusal = 'registrations are added once, in the order of their positions';
    for (const position of [29, 30]) {
      expect(() => after(progress, addWatch(watch, position))).toThrow(refusal);
      expect(() => after(progress, extendWatch(watch, 1, position))).toThrow(refusal);
      expect(() => after(progress, setWatchesUpTo(position))).toThrow(refusal);
    }
    expect(after(progress, setWatchesUpTo(31))).toEqual({ ...progress, watchesUpTo: 31 });
  });
});

describe('a watch that is extended', () => {
  it.each([
    ['gets a range up to its former start', [], 1, [extension(1)]],
    ['begins its joining range earlier if nothing of it was read', [joining(4)], 1, [{ ...joining(1), from: 1 }]],
    ['gets a range of its own if its joining range was read in part', [joining(5)], 1, [joining(5), extension(1)]],
    [
      'gets a range of its own if its joining range begins after its start',
      [{ ...joining(6), from: 6 }],
      1,
      [{ ...joining(6), from: 6 }, extension(1)],
    ],
    [
      'leaves the ranges of other watches alone',
      [{ ...joining(4), watchId: 'x' }],
      3,
      [
        { ...joining(4), watchId: 'x' },
        { ...extension(3), from: 3 },
      ],
    ],
  ])('%s', (_what, before, startBlock, expected) => {
    const { backfills, watchesUpTo } = after(reading(...before), extendWatch(watch, startBlock, 31));
    expect(backfills).toEqual(expected);
    expect(watchesUpTo).toBe(31);
  });

  it('gets a range that ends in the window, if it began there or later', () => {
    const range = (from: number, to: number): Range => ({ watchId: 'w', from, next: from, to, joins: false });
    const young = { id: 'w', startBlock: 12 };
    expect(after(progress, extendWatch(young, 10, 31)).backfills).toEqual([range(10, 11)]);
    expect(after(progress, extendWatch(young, 11, 31)).backfills).toEqual([range(11, 11)]);
    expect(after(progress, extendWatch({ ...young, startBlock: 20 }, 3, 31)).backfills).toEqual([range(3, 12)]);
    expect(after(progress, extendWatch({ ...young, startBlock: 20 }, 13, 31)).backfills).toEqual([]);
  });
});

describe('a range that ends in the window', () => {
  const range: Range = { watchId: 'w', from: 9, next: 9, to: 12, joins: false };
  const reached = { ...range, next: 11 };

  it('is read as far as blocks are final, and then finished with the blocks of the window', () => {
    expect(() => after(reading(range), cover('w', { from: 9, to: 11 }))).toThrow('are not the next ones');
    expect(() => after(reading(range), finish(range))).toThrow('w has blocks to read before that');
    const covered = after(reading(range), cover('w', { from: 9, to: 10 }));
    expect(covered.backfills).toEqual([reached]);
    expect(numbers(blocksToFinish(covered, reached))).toEqual([11, 12]);
    expect(numbers(blocksToFinish(covered, { ...reached, to: 11 }))).toEqual([11]);
    expect(after(covered, finish(range)).backfills).toEqual([]);
    expect(after(covered, advance(header(13), { number: 12 }), cover('w', { from: 11, to: 12 })).backfills).toEqual([]);
  });

  it('keeps its watch from being read at the head in those blocks only', () => {
    const live = (block: number) => liveWatches(reading(range), [watch], block);
    expect([live(8), live(9), live(12), live(13), live(Infinity)]).toEqual([[watch], [], [], [watch], [watch]]);
  });

  it('has no blocks after the tip, when other blocks take the place of its own', () => {
    expect(after(reading(range), rewind('11')).backfills).toEqual([{ ...range, to: 11 }]);
    expect(after(reading({ ...range, from: 12, next: 12 }, joining(13)), rewind('11')).backfills).toEqual([
      joining(13),
    ]);
    expect(after(reading(range), skipAhead(headers(900), 11, [])).backfills).toEqual([{ ...range, to: 11 }]);
  });
});

describe('a range', () => {
  it('goes on after the covered blocks, and a joining one grows up to the final block', () => {
    expect(after(reading(joining(4, 8)), cover('w', { from: 4, to: 6 })).backfills).toEqual([joining(7, 10)]);
    expect(after(reading(extension(1)), cover('w', { from: 1, to: 1 })).backfills).toEqual([extension(2)]);
  });

  it('is removed after its last block, but a joining one only when the watch joins', () => {
    expect(after(reading(joining(5), extension(2)), cover('w', { from: 2, to: 3 })).backfills).toEqual([joining(5)]);
    expect(after(reading(joining(5)), cover('w', { from: 5, to: 10 })).backfills).toEqual([joining(11)]);
  });

  it.each([
    ['blocks that are not its next ones', { from: 6, to: 7 }],
    ['blocks after its end', { from: 5, to: 11 }],
    ['no blocks', { from: 5, to: 4 }],
  ])('does not cover %s', (_what, blocks) => {
    const { from, to } = blocks;
    const refusal = `blocks ${String(from)} to ${String(to)} are not the next ones of w`;
    expect(() => after(reading(joining(5), extension(2)), cover('w', blocks))).toThrow(refusal);
    expect(() => after(reading({ ...joining(from), watchId: 'x' }), cover('w', { from, to: from }))).toThrow();
  });

  it('is told from another range of the watch that begins where it ends', () => {
    const { backfills } = after(
      reading({ ...extension(3), to: 4 }, { ...joining(5), from: 5 }),
      cover('w', { from: 5, to: 6 }),
    );
    expect(backfills).toEqual([
      { ...extension(3), to: 4 },
      { ...joining(7), from: 5 },
    ]);
  });
});

describe('a watch that joins', () => {
  it('goes live, while its extension is still read', () => {
    const other = { ...joining(4), watchId: 'other' };
    expect(after(reading(other, joining(11), extension(2)), finish(joining(4))).backfills).toEqual([
      other,
      extension(2),
    ]);
  });

  it('must have read every final block', () => {
    const refusal = 'w has blocks to read before that';
    expect(() => after(reading(joining(10)), finish(joining(10)))).toThrow(refusal);
    expect(() => after(reading(joining(9, 8)), finish(joining(9)))).toThrow(refusal);
    expect(() => after(reading(extension(4)), finish(joining(4)))).toThrow(refusal);
    expect(isCovered(progress, joining(10))).toBe(false);
    expect(isCovered(progress, joining(11))).toBe(true);
    expect(isCovered(progress, extension(4))).toBe(true);
  });

  it('stores its records in the window', () => {
    expect(numbers(blocksToFinish(progress, joining(11)))).toEqual([11, 12]);
    expect(numbers(blocksToFinish(progress, joining(12)))).toEqual([12]);
  });
});

describe('a watch that falls behind', () => {
  const behind: Range = { watchId: 'w', from: 13, next: 13, to: 10, joins: true };

  it('is read as a range from the block after the tip, and at the head up to there', () => {
    const { backfills } = after(reading(extension(2)), fallBehind([watch, { ...watch, id: 'x' }]));
    expect(backfills).toEqual([extension(2), behind, { ...behind, watchId: 'x' }]);
    const live = (block: number) => liveWatches(reading(...backfills), [watch], block);
    expect([live(12), live(13), live(Infinity)]).toEqual([[watch], [], []]);
  });

  it('falls behind further when it cannot be read before its range either', () => {
    const further = after(reading(behind), rewind('11'), fallBehind([watch]));
    expect(further.backfills).toEqual([{ ...behind, from: 12, next: 12 }]);
    expect(after(further, fallBehind([watch]))).toEqual(further);
    expect(after(reading(joining(4)), fallBehind([watch])).backfills).toEqual([joining(4)]);
    const young = { id: 'w', startBlock: 20 };
    const unread: Range = { ...behind, from: 20, next: 20 };
    expect(after(reading(unread), fallBehind([young])).backfills).toEqual([unread]);
  });

  it('joins with the blocks of the window from there on', () => {
    const progress = after(reading(behind), advance(header(13), { number: 11 }));
    expect(numbers(blocksToFinish(progress, behind))).toEqual([13]);
    expect(after(progress, finish(behind)).backfills).toEqual([]);
  });

  it('reads what took the place of its blocks when the chain is skipped', () => {
    expect(after(reading(behind), skipAhead(headers(900), 11, [watch])).backfills).toEqual([
      { ...behind, from: 12, next: 12 },
    ]);
    expect(after(reading(joining(6)), skipAhead(headers(900), 11, [watch])).backfills).toEqual([joining(6)]);
  });

  it('is extended by blocks of the window, too', () => {
    const young = { id: 'w', startBlock: 12 };
    expect(after(reading(behind), extendWatch(young, 3, 31)).backfills).toEqual([
      behind,
      { watchId: 'w', from: 3, next: 3, to: 11, joins: false },
    ]);
  });
});

describe('a watch that is stopped', () => {
  it('has what follows the tip as a range, once', () => {
    const rest: Range = { watchId: 'w', from: 13, next: 13, to: 10, joins: true };
    expect(after(reading(extension(2)), stopWatch(watch, 31))).toEqual({
      ...progress,
      backfills: [extension(2), rest],
      watchesUpTo: 31,
    });
    expect(after(reading(joining(6)), stopWatch(watch, 31)).backfills).toEqual([joining(6)]);
    expect(() => after(progress, stopWatch(watch, 30))).toThrow('in the order of their positions');
  });
});

describe('a watch that is deferred', () => {
  const other: Range = { ...joining(5), watchId: 'other' };
  const deferred = after(reading(joining(6), other, extension(2)), defer(['w']));

  it('has its ranges beside those that are read, until it is resumed', () => {
    expect(deferred).toEqual({
      ...progress,
      backfills: [other],
      deferred: new Map([['w', [joining(6), extension(2)]]]),
    });
    expect(after(deferred, resumeDeferred(['other', 'w']))).toEqual(reading(other, joining(6), extension(2)));
    expect(after(deferred, resumeDeferred(['other']))).toEqual(deferred);
    expect(() => after(deferred, cover('w', { from: 6, to: 6 }))).toThrow('are not the next ones');
  });

  it('is not live, and keeps its one joining range, whatever happens meanwhile', () => {
    const later: Range = { ...joining(13), from: 13 };
    const behind = after(progress, fallBehind([watch]), defer(['w']));
    const live = (block: number) => liveWatches(behind, [watch], block);
    expect([live(12), live(13), live(Infinity)]).toEqual([[watch], [], []]);
    expect(after(behind, stopWatch(watch, 31))).toEqual({ ...behind, watchesUpTo: 31 });
    expect(after(behind, rewind('11'), fallBehind([watch])).deferred).toEqual(
      new Map([['w', [{ ...later, from: 12, next: 12 }]]]),
    );
    expect(after(behind, skipAhead(headers(900), 11, [watch])).deferred).toEqual(
      new Map([['w', [{ ...later, from: 12, next: 12 }]]]),
    );
  });

  it('is resumed to begin earlier', () => {
    expect(after(deferred, extendWatch({ id: 'w', startBlock: 1 }, 0, 31)).backfills).toEqual([
      other,
      joining(6),
      extension(2),
      { watchId: 'w', from: 0, next: 0, to: 0, joins: false },
    ]);
  });
});

describe('a comparison of two values', () => {
  it('tells whether only the covered blocks differ', () => {
    const before = reading(joining(5), extension(2));
    expect(hasOnlyCovered(before, after(before, cover('w', { from: 5, to: 6 })))).toBe(true);
    expect(hasOnlyCovered(before, after(before, cover('w', { from: 2, to: 3 })))).toBe(false);
    expect(hasOnlyCovered(before, after(before, advance(header(13), { number: 11 })))).toBe(false);
    expect(hasOnlyCovered(before, after(before, setWatchesUpTo(31)))).toBe(false);
    const swapped = after(before, defer(['w']), resumeDeferred(['w']));
    expect(hasOnlyCovered(before, swapped)).toBe(false);
  });
});
