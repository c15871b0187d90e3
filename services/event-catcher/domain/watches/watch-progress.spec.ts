import { describe, expect, it } from '@jest/globals';
import type { BackfillRange as Range } from '../../../../schemas/events/event-catcher/chain-events.ts';
import { gapAdvice, progressOf, verifiedBlockOf, withDeferred } from './watch-progress.ts';

const watch = { id: 'w', startBlock: 10, readSince: 30, isRemoved: false, paused: null };
const joining: Range = { watchIds: ['x', 'w'], from: 10, next: 21, to: 40, joins: true };
const extension: Range = { watchIds: ['x', 'w'], from: 2, next: 5, to: 9, joins: false };
const ofOther = (range: Range): Range => ({ ...range, watchIds: ['other'], next: range.next - 1 });
const toRead = (fromBlock: number, toBlock: number) => ({
  ...{ fromBlock, toBlock },
  ...{ reason: 'not read yet', since: null },
});
const reading = (state: string, currentBlockNumber: number, blocksLeft: number, gaps: object[] = []) => ({
  ...{ state, currentBlockNumber, blocksLeft, gaps },
});
const extended = { ...watch, startBlock: 2 };
const chain = (...backfills: Range[]) => ({ head: 52, backfills, watchesUpTo: 30 });

describe('the progress of a watch', () => {
  it('is backfilling from its start block while its chain has not been read', () => {
    expect(progressOf(watch, undefined)).toEqual(reading('backfilling', 9, 0));
  });

  it('is backfilling up to the head before the follower has added it', () => {
    const before = { ...chain(ofOther(joining)), watchesUpTo: 29 };
    expect(progressOf(watch, before)).toEqual(reading('backfilling', 9, 43));
    expect(progressOf({ ...watch, startBlock: 52 }, before).blocksLeft).toBe(1);
    expect(progressOf({ ...watch, startBlock: 60 }, before).blocksLeft).toBe(0);
  });

  it('is backfilling from where its range has been read', () => {
    expect(progressOf(watch, chain(ofOther(joining), joining))).toEqual(reading('backfilling', 20, 20));
    expect(progressOf(watch, chain({ ...joining, next: 41 })).blocksLeft).toBe(0);
    expect(progressOf(watch, chain({ ...joining, next: 50 })).blocksLeft).toBe(0);
  });

  it('is never before block 0', () => {
    expect(progressOf({ ...watch, startBlock: 0 }, undefined).currentBlockNumber).toBe(0);
    expect(progressOf(watch, chain({ ...joining, next: 0 })).currentBlockNumber).toBe(0);
  });

  it('is live at the head when it was added and has no joining range', () => {
    expect(progressOf(watch, chain(ofOther(joining), ofOther(extension)))).toEqual(reading('live', 52, 0));
  });

  it('has its extension as a gap, while it is live or backfilling', () => {
    const gaps = [toRead(5, 9)];
    expect(progressOf(extended, chain(extension, ofOther(extension)))).toMatchObject({ state: 'live', gaps });
    expect(progressOf(extended, chain(joining, extension))).toEqual(reading('backfilling', 20, 20, gaps));
  });

  it('is paused where its reading stopped, whether an app wanted it or none claims it', () => {
    const rest = { ...joining, next: 31 };
    for (const stopped of [{ paused: 'app' as const }, { isRemoved: true }]) {
      expect(progressOf({ ...watch, ...stopped }, chain(rest))).toEqual(reading('paused', 30, 10));
    }
  });

  it('is backfilling before the follower reads it again', () => {
    const behind = progressOf({ ...watch, readSince: 31 }, chain({ ...joining, next: 31 }));
    expect(behind).toEqual(reading('backfilling', 30, 10));
    expect(progressOf({ ...watch, readSince: 31 }, chain()).state).toBe('backfilling');
  });

  it('has what is deferred as ranges, until the progress of the chain has it again', () => {
    const ranges = [
      { from: 10, next: 21, to: 40, joins: true },
      { from: 2, next: 5, to: 9, joins: false },
    ];
    const gaps = [toRead(5, 9)];
    const read = (takenUp: number | null, ...backfills: Range[]) =>
      progressOf(
        extended,
        withDeferred({ ...chain(...backfills), position: 50 }, new Map([['w', { ranges, takenUp }]])),
      );
    for (const takenUp of [null, 51]) expect(read(takenUp)).toEqual(reading('backfilling', 20, 20, gaps));
    expect(read(null, joining, extension).gaps).toEqual(gaps);
    expect(read(49)).toMatchObject({ state: 'live', gaps: [] });
  });

  const gap = { reason: 'no provider gives these blocks', since: '2026-01-02T12:00:00.000Z' };
  const pruned: Range = { watchIds: ['w'], from: 10, next: 10, to: 24, joins: false, gap };

  it('is live behind blocks that nobody gives, and names them, but for those that nobody wants', () => {
    expect(progressOf(watch, chain(pruned))).toEqual(reading('live', 52, 0, [{ fromBlock: 10, toBlock: 24, ...gap }]));
    expect(progressOf({ ...watch, startBlock: 20 }, chain(pruned)).gaps).toMatchObject([
      { fromBlock: 20, toBlock: 24 },
    ]);
    expect(progressOf({ ...watch, startBlock: 25 }, chain(pruned)).gaps).toEqual([]);
  });

  it('tells the setting that helps against blocks that nobody gives, and nothing of those that are to be read', () => {
    expect(gapAdvice(progressOf(watch, chain(pruned)).gaps)).toMatch(
      /^blocks 10 to 24 are missing: .*"rpcUrls".*CHAINS$/,
    );
    expect(gapAdvice(progressOf(extended, chain(extension)).gaps)).toBeNull();
  });

  it('is verified before what is not read, and before what was not read when the rest was verified', () => {
    const known = { ...watch, createdPosition: 1 };
    const verified = (skipped: { watchIds: string[]; next: number; to: number }[], ...backfills: Range[]) =>
      verifiedBlockOf(
        known,
        { verified: 50, behind: [], skipped, watchesUpTo: 30 },
        progressOf(watch, chain(...backfills)),
      );
    const live = progressOf(watch, chain());
    const behind = [{ watchIds: ['x', 'w'], next: 18 }];
    const verifiedUpTo = (block: number, more: object = {}) =>
      verifiedBlockOf(known, { verified: block, behind: [], watchesUpTo: 30, ...more }, live);
    expect([verifiedUpTo(25), verifiedUpTo(9), verifiedUpTo(25, { watchesUpTo: 0 })]).toEqual([25, null, null]);
    expect([verifiedUpTo(25, { behind }), verifiedBlockOf(known, undefined, live)]).toEqual([17, null]);
    expect(verified([])).toBe(50);
    expect(verified([], joining)).toBe(20);
    expect(verified([], pruned)).toBeNull();
    expect(verified([], { ...pruned, next: 15 })).toBe(14);
    expect(verified([{ watchIds: ['w'], next: 12, to: 24 }])).toBe(11);
    expect(
      verified([
        { watchIds: ['other'], next: 12, to: 24 },
        { watchIds: ['w'], next: 2, to: 9 },
      ]),
    ).toBe(50);
  });
});
