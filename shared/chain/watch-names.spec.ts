import { describe, expect, it } from '@jest/globals';
import { matcherByName, findNamed } from './watch-names.ts';

const TRANSFER = 'Transfer(address indexed,address indexed,uint256)';
const transfer = { eventName: 'Transfer', eventSignature: TRANSFER };
const other = { eventName: 'Transfer', eventSignature: 'Transfer(address indexed,bytes)' };
const plain = { eventName: 'Paused', eventSignature: 'Paused(address)' };

describe('a watch', () => {
  it.each([
    'Transfer',
    ' Transfer ',
    'Transfer(address,address,uint256)',
    'Transfer( address , address,uint256 )',
    'Transfer(address,address,uint)',
    'event Transfer(address from, address to, uint256 value);',
    TRANSFER,
    'event Transfer(address indexed from, address indexed to, uint value)',
  ])('is named by %s', (text) => {
    expect(matcherByName(text)(transfer)).toBe(true);
    expect(matcherByName(text)(other)).toBe(text.trim() === 'Transfer');
    expect(matcherByName(text)(plain)).toBe(false);
  });

  it.each([
    'transfer',
    'Trans',
    'Transfer(',
    'Transfer()',
    'Transfer(address)',
    'Transfer(address indexed,address,uint256)',
    'Transfer(address,address,uint128)',
    '__proto__',
    '',
  ])('is not named by %j', (text) => {
    expect([transfer, other, plain].filter(matcherByName(text))).toEqual([]);
  });

  it('without indexed parameters is named by its bare signature, not by one that has an indexed parameter', () => {
    expect(matcherByName('Paused(address)')(plain)).toBe(true);
    expect(matcherByName('Paused(address indexed)')(plain)).toBe(false);
  });

  it('is found by a name of a request, if any watch has it', () => {
    expect(findNamed([transfer, other, plain], 'eventName', 'Paused')).toBe(plain);
    expect(findNamed([transfer, other, plain], 'eventName', 'Transfer(address,bytes)')).toBe(other);
    expect(findNamed([transfer, other, plain], 'eventName', 'Approval')).toBeUndefined();
  });

  it('must be named by its signature if several watches share the name', () => {
    expect(() => findNamed([transfer, other, plain], 'eventName', 'Transfer')).toThrow(
      `validation_failed: eventName: is the name of several events: say ${TRANSFER} or Transfer(address indexed,bytes)`,
    );
  });
});
