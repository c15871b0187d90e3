import { describe, expect, it } from '@jest/globals';
import { readAccountCall } from './account-call.ts';

const word = (digits: string): string => digits.padStart(64, '0');
const TO = '1234567890abcdef1234567890abcdef12345678';
const SELECTOR = '0xb61d27f6';
const head = `${word(TO)}${word('de0b6b3a7640000')}${word('60')}`;
const TRANSFER = `a9059cbb${word('aa')}${word('5')}`;

describe('the call of an operation', () => {
  it('is that of execute: target, value and bytes', () => {
    const callData = `${SELECTOR}${head}${word('44')}${TRANSFER}${'0'.repeat(56)}`;
    expect(readAccountCall(callData)).toEqual({
      to: '0x1234567890AbcdEF1234567890aBcdef12345678',
      value: '1000000000000000000',
      data: `0x${TRANSFER}`,
    });
  });

  it('may have no bytes', () => {
    expect(readAccountCall(`${SELECTOR}${head}${word('0')}`)).toMatchObject({ data: '0x' });
  });

  it.each([
    ['nothing', '0x'],
    ['another function', `0x47e1da2a${head}${word('0')}`],
    ['an address of more than 20 bytes', `${SELECTOR}${word(`1${TO}`)}${word('0')}${word('60')}${word('0')}`],
    ['another offset', `${SELECTOR}${word(TO)}${word('0')}${word('80')}${word('0')}`],
    ['fewer bytes than it says', `${SELECTOR}${head}${word('21')}${word('1')}`],
    ['far more bytes than there are', `${SELECTOR}${head}${'f'.repeat(64)}`],
    ['something behind the bytes', `${SELECTOR}${head}${word('0')}${word('0')}`],
    ['something in the padding', `${SELECTOR}${head}${word('1')}ff${word('1').slice(2)}`],
    ['no bytes at all', `${SELECTOR}${head}`],
  ])('is not told of %s', (_, callData) => {
    expect(readAccountCall(callData)).toBeUndefined();
  });
});
