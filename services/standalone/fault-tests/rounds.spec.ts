import { describe, expect, it } from '@jest/globals';
import { progressAfter, readRounds } from './rounds.ts';

describe('rounds of faults', () => {
  it('are twenty, or as many as are asked for', () => {
    expect([undefined, '1', '200'].map(readRounds)).toEqual([20, 1, 200]);
  });

  it.each(['', '0', '-1', '1.5', '1e3', 'many', ' 2'])('are not "%s"', (given) => {
    expect(() => readRounds(given)).toThrow(`FAULT_ROUNDS: "${given}" is not a whole number from 1 on`);
  });

  it('are told of after every tenth, and after the last', () => {
    const told = Array.from({ length: 25 }, (_, index) => progressAfter(index + 1, 25, (index + 1) * 2_000));
    expect(told.filter((line) => line !== undefined)).toEqual([
      '10 of 25 rounds in 20 s, about 30 s to go',
      '20 of 25 rounds in 40 s, about 10 s to go',
      '25 of 25 rounds in 50 s, about 0 s to go',
    ]);
  });
});
