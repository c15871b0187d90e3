import { describe, expect, it } from '@jest/globals';
import { nextPollMs } from './next-poll.ts';
import { tipOf, type Window } from '../../../../shared/chain/window.ts';

const bounds = { leastMs: 500, mostMs: 15_000, isLocal: false };
type Block = { number: number; hash: string; parentHash: string; timestamp: number };

/** A window of this many blocks, this many seconds apart. */
const windowOf = (blocks: number, seconds: number): Window<Block> => {
  const block = (number: number) => ({
    ...{ number, hash: String(number), parentHash: String(number - 1) },
    timestamp: Math.floor(number * seconds),
  });
  return [block(100), ...Array.from({ length: blocks - 1 }, (_, at) => block(101 + at))];
};
const after = (foundAgoMs: number, announcedAgoMs = Infinity) => ({ foundAgoMs, announcedAgoMs, isListening: false });

describe('the next poll for a block', () => {
  it('is a little before the block is due', () => {
    expect(nextPollMs(windowOf(33, 12), after(0), bounds)).toBe(11_400);
    expect(nextPollMs(windowOf(33, 12), after(2_000), bounds)).toBe(9_400);
  });

  it('comes soon when the block is overdue, and less often the longer it is, but for a bound', () => {
    expect(nextPollMs(windowOf(33, 12), after(11_400), bounds)).toBe(1_500);
    expect(nextPollMs(windowOf(33, 12), after(31_400), bounds)).toBe(5_000);
    expect(nextPollMs(windowOf(33, 12), after(600_000), bounds)).toBe(5_000);
    expect(nextPollMs(windowOf(33, 100), after(600_000), bounds)).toBe(12_500);
  });

  it('keeps to the bounds, where blocks are quick, slow, or only one is known', () => {
    expect(nextPollMs(windowOf(33, 0.25), after(0), bounds)).toBe(500);
    expect(nextPollMs(windowOf(33, 0), after(0), bounds)).toBe(500);
    expect(nextPollMs(windowOf(33, 600), after(0), bounds)).toBe(15_000);
    expect(nextPollMs(windowOf(1, 12), after(0), bounds)).toBe(500);
  });

  it('leaves it to announcements while they come', () => {
    expect(nextPollMs(windowOf(33, 12), after(0, 100), { ...bounds, mostMs: 60_000 })).toBe(24_000);
    expect(nextPollMs(windowOf(33, 12), after(0, 24_000), bounds)).toBe(11_400);
  });

  it('is soon on a chain of this machine that may mine on demand', () => {
    const local = { ...bounds, isLocal: true };
    const soon = bounds.leastMs;
    const mined = (...seconds: number[]) =>
      seconds.reduce<Window<Block>>(
        (window, after) => {
          const { number, timestamp } = tipOf(window);
          const [hash, parentHash] = [String(number + 1), String(number)];
          return [...window, { number: number + 1, hash, parentHash, timestamp: timestamp + after }];
        },
        windowOf(1, 1),
      );
    const often = (...seconds: number[]) => mined(...Array.from({ length: 8 }, () => seconds).flat());
    expect(nextPollMs(often(1, 30, 2), after(0), local)).toBe(soon);
    expect(nextPollMs(often(5, 12, 40), after(0), local)).toBe(soon);
    expect(nextPollMs(windowOf(8, 12), after(0), local)).toBe(soon);
    expect(nextPollMs(windowOf(81, 1), after(0), local)).toBe(soon);
    expect(nextPollMs(often(1, 30, 2), after(0), bounds)).toBeGreaterThan(soon);
    expect(nextPollMs(often(1, 30, 2), { ...after(0), isListening: true }, local)).toBe(1_000);
  });

  it('follows the pace of a chain of this machine that has one', () => {
    const local = { ...bounds, isLocal: true };
    for (const window of [windowOf(33, 12), windowOf(33, 2)]) {
      for (const foundAgoMs of [0, 2_000, 12_000, 20_000])
        expect(nextPollMs(window, after(foundAgoMs), local)).toBe(nextPollMs(window, after(foundAgoMs), bounds));
    }
  });

  it('polls some once or twice for each block', () => {
    const window = windowOf(33, 12);
    const blockMs = 12_000;
    let polls = 0;
    let lateMs = 0;
    let foundAt = 5_000;
    let now = 5_000;
    for (let block = 1; block <= 500;) {
      now += nextPollMs(window, after(now - foundAt), bounds);
      polls += 1;
      // Blocks are up to half a second early or late.
      const cameAt = block * blockMs + 500 * Math.sin(block);
      if (now < cameAt) continue;
      lateMs += now - cameAt;
      foundAt = now;
      block += 1;
    }
    expect(polls / 500).toBeLessThan(1.6);
    expect(lateMs / 500).toBeLessThan(1_500);
  });
});
