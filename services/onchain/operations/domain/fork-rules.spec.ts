import { describe, expect, it } from '@jest/globals';
import { dataGas, FORKS, transactionGasMax } from './fork-rules.ts';

describe('the rules of a fork', () => {
  it.each([
    ['london', 21_000n],
    ['prague', 21_000n + 10n * 13n],
    ['osaka', 21_000n + 10n * 13n],
  ] as const)('charge for data at %s 16 gas a byte and 4 a zero, and at least %s', (fork, floor) => {
    expect(dataGas('0x00ff01FF', FORKS[fork])).toEqual({ intrinsic: 21_000n + 3n * 16n + 4n, floor });
    expect(dataGas('0x', FORKS[fork])).toEqual({ intrinsic: 21_000n, floor: 21_000n });
  });

  it('leave a transaction what a block has, and since Osaka 2^24 gas at most', () => {
    for (const fork of ['london', 'prague'] as const)
      expect(transactionGasMax({ gasLimit: 30_000_000n }, FORKS[fork])).toBe(30_000_000n);
    expect(transactionGasMax({ gasLimit: 30_000_000n }, FORKS.osaka)).toBe(16_777_216n);
    expect(transactionGasMax({ gasLimit: 15_000_000n }, FORKS.osaka)).toBe(15_000_000n);
  });
});
