import { describe, expect, it } from '@jest/globals';
import { AnswerLengths } from './answer-lengths.ts';

describe('the lengths of answers', () => {
  const received = (lengths: readonly number[], isAgain = false) => {
    const known = new AnswerLengths();
    return lengths.map((length) => {
      const found = known.received(length, isAgain);
      if (found === 'perhaps') known.wasWhole(length);
      return found;
    });
  };

  it('tell that none was cut that is shorter than another one, or has a few logs', () => {
    expect(received([0, 1, 9, 101, 99, 37])).toEqual(['whole', 'whole', 'whole', 'perhaps', 'whole', 'whole']);
  });

  it('tell that those may have been cut that are as long as the longest, or have a round number of logs', () => {
    expect(received([101, 333, 333])).toEqual(['perhaps', 'perhaps', 'perhaps']);
    for (const round of [10, 25, 50, 100, 250, 256, 500, 1_000, 1_024, 2_000, 2_500, 8_000, 10_000])
      expect(received([10_001, round])).toEqual(['perhaps', 'perhaps']);
  });

  it('tell it less and less often of the same length', () => {
    const found = received(Array.from({ length: 1_000 }, () => 50));
    expect(found.filter((one) => one === 'perhaps')).toHaveLength(10);
    expect(found.slice(0, 5)).toEqual(['perhaps', 'perhaps', 'whole', 'perhaps', 'whole']);
  });

  it('tell it of all that are asked for at the same time, as long as none was found to be whole', () => {
    const known = new AnswerLengths();
    expect([1, 2, 3, 4].map(() => known.received(50))).toEqual(['perhaps', 'perhaps', 'perhaps', 'perhaps']);
  });

  it('tell it each time of what is read for the last time, if none was longer', () => {
    const again = received([101, 50, 101, 101, 50, 50, 101], true);
    expect(again).toEqual(['perhaps', 'perhaps', 'perhaps', 'perhaps', 'perhaps', 'whole', 'perhaps']);
  });

  it('tell a few times of lengths that differ at random, however many there are', () => {
    let state = 1;
    const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    const found = received(Array.from({ length: 20_000 }, () => 7_000 + Math.floor(random() * 1_996)));
    expect(found.filter((one) => one === 'perhaps').length).toBeLessThan(30);
  });

  it('tell what is cut for certain once one was, until a longer one comes', () => {
    const known = new AnswerLengths();
    known.received(100);
    known.cut(100);
    expect([known.received(99), known.received(100), known.received(100)]).toEqual(['whole', 'cut', 'cut']);
    expect([known.received(130), known.received(100)]).toEqual(['perhaps', 'perhaps']);
    expect(known.received(101)).toBe('whole');
  });
});
