import { describe, expect, it } from '@jest/globals';
import type { WindowBlock } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { ChainProgress } from '../chain-progress.ts';
import { isGapOrUnwanted, isUnwanted, type Range } from './coverage.ts';
import { leaveGap, splitAtStart } from './left-ranges.ts';

const block = (number: number): WindowBlock => ({
  ...{ number, hash: String(number), parentHash: String(number - 1), timestamp: number, since: 0 },
});
/** Block 100 is final, and block 102 is the head. */
const reading = (...backfills: Range[]): ChainProgress => ({
  window: [block(100), block(101), block(102)],
  anchors: [],
  backfills,
  deferred: new Map(),
  watchesUpTo: 5,
  position: 50,
});
const joining = (next: number, from = 4): Range => ({ watchId: 'w', from, next, to: 90, joins: true });
const range = (next: number, to: number, more: Partial<Range> = {}): Range => ({
  ...{ watchId: 'w', from: next, next, to, joins: false },
  ...more,
});
const gap = { reason: 'pruned', since: '2026-01-02T12:00:00.000Z' };
const wanted = { wantedFrom: 4 };

describe('blocks that are left unread', () => {
  it('are a range of their own, and the rest goes on behind them', () => {
    const { backfills } = leaveGap(joining(10), { to: 49, gap }, wanted)(reading(joining(10)));
    expect(backfills).toEqual([range(10, 49, { gap }), joining(50)]);
    const all = range(10, 30);
    expect(leaveGap(all, { to: 30, gap }, wanted)(reading(all)).backfills).toEqual([range(10, 30, { gap })]);
    expect(leaveGap(joining(10), { to: 100, gap }, wanted)(reading(joining(10))).backfills[1]).toEqual(joining(101));
  });

  it('join the ones before them, unless nobody wants those', () => {
    const before = range(4, 9, { gap: { ...gap, reason: 'as before' } });
    const left = (wantedFrom: number) =>
      leaveGap(joining(10), { to: 20, gap }, { wantedFrom })(reading(before, joining(10))).backfills;
    expect(left(9)).toEqual([{ ...before, to: 20 }, joining(21)]);
    expect(left(10)).toEqual([before, range(10, 20, { gap }), joining(21)]);
  });

  it.each([
    ['that are not the next ones', joining(11), 20],
    ['before the next one', joining(10), 9],
    ['that are not final', joining(10), 101],
  ])('are none %s', (_, other, to) => {
    expect(() => leaveGap(other, { to, gap }, wanted)(reading(joining(10)))).toThrow('are not the next ones of w');
  });
});

describe('a watch that begins elsewhere', () => {
  const watch = { id: 'w', startBlock: 4 };
  const moved = (startBlock: number, ...backfills: Range[]) =>
    splitAtStart(watch, startBlock, 6)(reading(...backfills)).backfills;

  it('has each range wanted or not as a whole, and what is not is left', () => {
    const others = [range(30, 40, { gap }), joining(60), { ...joining(4), watchId: 'other' }];
    const after = moved(70, range(10, 20), ...others);
    expect(after).toEqual([
      range(10, 20),
      range(30, 40, { gap }),
      range(60, 69, { from: 4 }),
      joining(70, 70),
      { ...joining(4), watchId: 'other' },
    ]);
    expect(after.map((one) => isUnwanted(one, { wantedFrom: 70 }))).toEqual([true, true, true, false, false]);
    expect(isGapOrUnwanted(range(30, 40, { gap }), { wantedFrom: 0 })).toBe(true);
    expect(isGapOrUnwanted(range(30, 40), { wantedFrom: 40 })).toBe(false);
  });

  it('divides what nobody gives, so that it may be wanted again in part', () => {
    expect(moved(15, range(10, 20, { gap }))).toEqual([range(10, 14, { gap }), range(15, 20, { gap })]);
  });

  it('has few ranges, however often it moves', () => {
    let progress = reading(range(4, 89, { gap }), joining(90));
    const times = Array.from({ length: 80 }, (_, at) => (at % 2 === 0 ? 85 - at : 5 + at));
    for (const [at, start] of times.entries()) progress = splitAtStart(watch, start, 6 + at)(progress);
    expect(progress.backfills).toHaveLength(3);
    const many = Array.from({ length: 50 }, (_, at) => range(4 + 2 * at, 4 + 2 * at));
    expect(moved(8, ...many, joining(60))).toHaveLength(51);
    const full = [...Array.from({ length: 99 }, (_, at) => range(-2 * at, -2 * at)), range(10, 20)];
    expect(moved(15, ...full)).toEqual(full);
  });

  it('leaves out blocks that are not there yet, and changes nothing of what is read', () => {
    expect(moved(110, joining(50))).toEqual([range(50, 102, { from: 4 }), joining(110, 110)]);
    expect(moved(30, joining(50))).toEqual([joining(50)]);
    expect(splitAtStart(watch, 30, 6)(reading()).watchesUpTo).toBe(6);
  });

  it('takes up what was deferred', () => {
    const progress = { ...reading(), deferred: new Map([['w', [joining(10)]]]) };
    const { backfills, deferred } = splitAtStart(watch, 20, 6)(progress);
    expect([backfills, deferred.size]).toEqual([[range(10, 19, { from: 4 }), joining(20, 20)], 0]);
  });
});
