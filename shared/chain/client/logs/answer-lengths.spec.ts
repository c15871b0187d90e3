import { describe, expect, it } from '@jest/globals';
import { AnswerLengths } from './answer-lengths.ts';

describe('the lengths of answers', () => {
  const received = (lengths: readonly number[]) => {
    const known = new AnswerLengths();
    return lengths.map((length) => {
      const found = known.received(length);
      if (found === 'round') known.wasWhole(length);
      return found;
    });
  };

  it('tell that an answer is whole that is empty or shorter than another', () => {
    expect(received([0, 101, 99, 37, 8, 1])).toEqual(['whole', 'longest', 'whole', 'whole', 'whole', 'whole']);
  });

  it('tell each time that an answer may have been cut that is as long as the longest, however short', () => {
    expect(received([1, 1, 1, 2, 1, 2])).toEqual(['longest', 'longest', 'longest', 'longest', 'whole', 'longest']);
    expect(received(Array.from({ length: 100 }, () => 333))).toEqual(Array.from({ length: 100 }, () => 'longest'));
  });

  it('tell that an answer of a round number of logs may have been cut, less and less often', () => {
    for (const round of [10, 25, 50, 100, 250, 256, 500, 1_000, 1_024, 2_000, 2_500, 8_000, 10_000])
      expect(received([10_001, round])).toEqual(['longest', 'round']);
    const [, ...found] = received([101, ...Array.from({ length: 1_000 }, () => 50)]);
    expect(found.filter((one) => one === 'round')).toHaveLength(10);
    expect(found.slice(0, 5)).toEqual(['round', 'round', 'whole', 'round', 'whole']);
  });

  it('tell it of all answers that are asked for at the same time, as long as none was found to be whole', () => {
    const known = new AnswerLengths();
    known.received(51);
    expect([1, 2, 3, 4].map(() => known.received(50))).toEqual(['round', 'round', 'round', 'round']);
  });

  it('tell a few times of lengths that differ at random, however many there are', () => {
    let state = 1;
    const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    const found = received(Array.from({ length: 20_000 }, () => 7_000 + Math.floor(random() * 1_996)));
    expect(found.filter((one) => one !== 'whole').length).toBeLessThan(50);
  });

  it('tell what is cut for certain once one was, until a longer one comes', () => {
    const known = new AnswerLengths();
    known.received(100);
    known.cut(100);
    expect([known.received(99), known.received(100), known.received(100)]).toEqual(['whole', 'cut', 'cut']);
    expect([known.received(130), known.received(100)]).toEqual(['longest', 'round']);
    expect(known.received(101)).toBe('whole');
  });

  it('tell that an answer is whole that is shorter than one of a kind that is cut no later', () => {
    const ranges = new AnswerLengths();
    const blocks = new AnswerLengths(ranges);
    ranges.received(3);
    expect([blocks.received(2), blocks.received(3), ranges.received(4), blocks.received(3)]).toEqual([
      'whole',
      'longest',
      'longest',
      'whole',
    ]);
    blocks.received(9);
    expect(ranges.received(5)).toBe('longest');
  });

  it('tell whether to ask for a longer answer, less and less often, and never stop', () => {
    const known = new AnswerLengths();
    const times = Array.from({ length: 300 }, () => known.probe());
    expect(times.slice(0, 9)).toEqual([0, 1, undefined, 2, undefined, undefined, undefined, 3, undefined]);
    expect(times.filter((one) => one !== undefined)).toEqual([0, 1, 2, 3, 4, 4, 4, 4, 4]);
  });

  it('tell that an answer is cut that has as many logs as the kind that is cut no later, until that gives more', () => {
    const ranges = new AnswerLengths();
    const blocks = new AnswerLengths(ranges);
    ranges.cut(2);
    expect([blocks.received(2), blocks.received(1)]).toEqual(['cut', 'whole']);
    ranges.received(3);
    expect(blocks.received(2)).toBe('whole');
  });
});
