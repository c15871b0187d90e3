import { Interface } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { someBytes } from '../../testing/random-operation.ts';
import { failedOperationOf, reasonOf } from './revert-reason.ts';

const errors = new Interface([
  'error Error(string)',
  'error Panic(uint256)',
  'error FailedOp(uint256,string)',
  'error FailedOpWithRevert(uint256,string,bytes)',
]);
const encode = (name: string, ...values: readonly unknown[]) => errors.encodeErrorResult(name, values);
const NO_REASON = 'the call reverted without a reason';

describe('the reason of a revert', () => {
  it('is the text that the contract gives', () => {
    expect(reasonOf(encode('Error', 'ERC20: transfer amount exceeds balance'))).toBe(
      'ERC20: transfer amount exceeds balance',
    );
  });

  it('is what a panic means', () => {
    expect(reasonOf(encode('Panic', 0x11))).toBe('panic 0x11: arithmetic overflow or underflow');
    expect(reasonOf(encode('Panic', 0))).toBe('panic 0x00: inserted by the compiler');
    expect(reasonOf(encode('Panic', 0x99))).toBe('panic 0x99');
  });

  it('is the selector of any other error, and of one that does not hold what it says', () => {
    expect(reasonOf('0xe450d38c00')).toBe('custom error 0xe450d38c');
    expect(reasonOf('0xE450D38C')).toBe('custom error 0xe450d38c');
    expect(reasonOf(encode('Error', 'cut off').slice(0, -64))).toBe('custom error 0x08c379a0');
    expect(reasonOf('0x4e487b7111')).toBe('custom error 0x4e487b71');
    expect(reasonOf(`0xe450d38c${'0'.repeat(62)}11`)).toBe('custom error 0xe450d38c');
  });

  it('is that there is none', () => {
    for (const nothing of ['0x', '0x08c3', encode('Error', '')]) expect(reasonOf(nothing)).toBe(NO_REASON);
  });

  it('is short and printable, whatever the contract writes', () => {
    const reason = reasonOf(encode('Error', 'a\u0000b\nc\u202ed\u2028é🙂'));
    expect(reason).toBe('a\ufffdb\ufffdc\ufffdd\ufffdé🙂');
    expect(reasonOf(encode('Error', '🙂'.repeat(10_000)))).toBe('🙂'.repeat(256));
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (text) => {
        const shown = reasonOf(encode('Error', text));
        expect(shown).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
        expect(Array.from(shown).length).toBeLessThanOrEqual(256);
      }),
    );
  });
});

describe('an operation that failed', () => {
  it('is named with its reason, and with what its account, factory or paymaster reverted', () => {
    fc.assert(
      fc.property(fc.nat(), someBytes(100), (index, inner) => {
        expect(failedOperationOf(encode('FailedOp', index, 'AA25 invalid account nonce'))).toEqual({
          index,
          reason: 'AA25 invalid account nonce',
        });
        expect(failedOperationOf(encode('FailedOpWithRevert', index, 'AA23 reverted', inner))).toEqual({
          index,
          reason: 'AA23 reverted',
          inner,
        });
      }),
    );
  });

  it('is not read from anything else, or from what is cut off', () => {
    const failed = encode('FailedOpWithRevert', 1, 'AA23 reverted', `0x${'ab'.repeat(32)}`);
    for (let length = 2; length < failed.length; length += 2) {
      expect(failedOperationOf(failed.slice(0, length))).toBeUndefined();
    }
    expect(failedOperationOf(encode('Error', 'AA23 reverted'))).toBeUndefined();
    expect(failedOperationOf(`0xe450d38c${failed.slice(10)}`)).toBeUndefined();
    fc.assert(fc.property(someBytes(200), (data) => failedOperationOf(data) === undefined && reasonOf(data) !== ''));
  });
});
