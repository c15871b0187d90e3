import { describe, expect, it } from '@jest/globals';
import { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { SlotMoves, type WatchRanges } from './slot-moves.ts';

const SEEDS = 2_000;
const WATCHES_MAX = 25;

const watch = (watchId: string, app: string, ranges: number, isFailing = false): WatchRanges => ({
  ...{ watchId, app, isFailing },
  ranges: Array.from({ length: ranges }, () => ({ watchId, from: 0, next: 0, to: 1, joins: true })),
});
const ids = (all: readonly WatchRanges[]) => all.map(({ watchId }) => watchId);
const rangesOf = (all: readonly WatchRanges[]) => all.reduce((sum, { ranges }) => sum + ranges.length, 0);

interface State {
  placed: readonly WatchRanges[];
  waiting: readonly WatchRanges[];
}

/** The moves of one commit. */
const moved = ({ placed, waiting }: State, rangesMax: number, isMovable = (_one: WatchRanges) => true): State => {
  const moves = new SlotMoves(placed, rangesMax, isMovable);
  moves.releaseSurplus();
  moves.takeFairly(waiting.filter(({ isFailing }) => !isFailing));
  moves.takeFailed(
    waiting.filter(({ isFailing }) => isFailing),
    0,
  );
  const isIn = ({ watchId }: WatchRanges) => moves.in.includes(watchId);
  const isOut = ({ watchId }: WatchRanges) => moves.out.includes(watchId);
  return {
    placed: [...placed.filter((one) => !isOut(one)), ...waiting.filter(isIn)],
    waiting: [...waiting.filter((one) => !isIn(one)), ...placed.filter(isOut)],
  };
};

/** The slots once nothing changes any more. */
const settled = (from: State, rangesMax: number): State => {
  let state = from;
  for (let step = 0; step < 2 * WATCHES_MAX; step += 1) {
    const next = moved(state, rangesMax);
    if (ids(next.placed).join() === ids(state.placed).join()) return state;
    state = next;
  }
  throw new Error('they change places for ever');
};

describe('watches that change places', () => {
  it('take free places in their order, of the app that has the fewest first', () => {
    const waiting = [watch('a1', 'a', 1), watch('a2', 'a', 1), watch('a3', 'a', 1), watch('b1', 'b', 1)];
    expect(ids(moved({ placed: [], waiting }, 3).placed)).toEqual(['a1', 'a2', 'b1']);
  });

  it('leave them to an app that waits and has fewer', () => {
    const placed = [watch('a1', 'a', 1), watch('a2', 'a', 1), watch('a3', 'a', 1)];
    expect(ids(moved({ placed, waiting: [watch('b1', 'b', 1)] }, 3).placed)).toEqual(['a1', 'a2', 'b1']);
    expect(ids(moved({ placed, waiting: [watch('a4', 'a', 1)] }, 3).placed)).toEqual(['a1', 'a2', 'a3']);
  });

  it('leave them to any that did not fail, if they failed', () => {
    const placed = [watch('a1', 'a', 1, true), watch('a2', 'a', 1)];
    expect(ids(moved({ placed, waiting: [watch('a3', 'a', 1)] }, 2).placed)).toEqual(['a2', 'a3']);
  });

  it('keep theirs where those would be too few for the one that waits', () => {
    const placed = [watch('a1', 'a', 1, true), watch('a2', 'a', 1, true)];
    const waiting = [watch('b1', 'b', 3)];
    expect(ids(moved({ placed, waiting }, 2).placed)).toEqual(['b1']);
    expect(ids(moved({ placed: [watch('a1', 'a', 1), ...placed.slice(1)], waiting }, 3).placed)).toEqual(['a1', 'a2']);
  });

  it('wait until there is a place for each of their ranges, and smaller ones do not take them meanwhile', () => {
    const placed = [watch('a1', 'a', 1), watch('c1', 'c', 1)];
    const waiting = [watch('b1', 'b', 3), watch('a2', 'a', 1)];
    expect(ids(moved({ placed, waiting }, 4).placed)).toEqual(['a1', 'c1']);
    expect(ids(moved({ placed: placed.slice(1), waiting }, 4).placed)).toEqual(['c1', 'b1']);
  });

  it('are alone where they have more ranges than there are places', () => {
    expect(ids(moved({ placed: [], waiting: [watch('a1', 'a', 5), watch('b1', 'b', 1)] }, 3).placed)).toEqual(['a1']);
  });

  it('rotate between watches that failed, at most as often as they may', () => {
    const rotated = (rotatedMost: number, ranges = 1) => {
      const placed = ['a1', 'a2', 'a3'].map((id) => watch(id, 'a', 1, true));
      const moves = new SlotMoves(placed, 3, () => true);
      const waiting = ['b1', 'b2', 'b3'].map((id) => watch(id, 'b', ranges, true));
      return [moves.takeFailed(waiting, rotatedMost), moves.in, moves.out.length];
    };
    expect(rotated(2)).toEqual([true, ['b1', 'b2'], 2]);
    expect(rotated(0)).toEqual([false, [], 0]);
    expect(rotated(2, 3)).toEqual([false, [], 0]);
  });

  it('stay while they are being read', () => {
    const state = { placed: [watch('a1', 'a', 1), watch('a2', 'a', 1)], waiting: [watch('b1', 'b', 1)] };
    expect(ids(moved(state, 2, ({ watchId }) => watchId !== 'a2').placed)).toEqual(['a2', 'b1']);
    expect(ids(moved(state, 2, () => false).placed)).toEqual(['a1', 'a2']);
  });

  it('do not change for ever, whichever there are, and leave no place free that one which waits could have', () => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const random = new SeededRandom(seed);
      const rangesMax = random.between(1, 12);
      const sizeMost = random.pick([1, 3, 15]) ?? 1;
      const watches = Array.from({ length: random.between(1, WATCHES_MAX) }, (_, at) => {
        const app = random.pick(['a', 'b', 'c', 'd']) ?? 'a';
        return watch(String(at), app, random.between(1, sizeMost), random.chance(0.3));
      });
      const many = random.between(0, watches.length);
      const { placed, waiting } = settled({ placed: watches.slice(0, many), waiting: watches.slice(many) }, rangesMax);
      const used = rangesOf(placed);
      expect({ seed, isWithin: used <= rangesMax || placed.length === 1 }).toEqual({ seed, isWithin: true });
      const well = waiting.filter(({ isFailing }) => !isFailing);
      const free = rangesMax - used + rangesOf(placed.filter(({ isFailing }) => isFailing));
      const isFree = well.length > 0 && well.every(({ ranges }) => ranges.length <= free);
      expect({ seed, isFree }).toEqual({ seed, isFree: false });
    }
  });
});
