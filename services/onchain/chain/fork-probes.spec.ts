import { describe, expect, it } from '@jest/globals';
import { FORKS } from '../operations/domain/fork-rules.ts';
import { rulesShownBy } from './fork-probes.ts';

const refused = (message: string) => ({ error: { code: -32_000, message, data: undefined } });
const WITHOUT_FLOOR = { result: '0x9088' };
const WITH_FLOOR = { result: '0xee48' };
const KNOWN = { result: `0x${'ff'.padStart(64, '0')}` };

describe('the rules that a node shows', () => {
  it.each([
    ['london', WITHOUT_FLOOR, refused('invalid opcode: opcode 0x1e not defined')],
    ['prague', WITH_FLOOR, refused('EVM error NotActivated')],
    ['osaka', WITH_FLOOR, KNOWN],
  ] as const)('are those of %s by what it charges and executes', (fork, estimate, opcode) => {
    expect(rulesShownBy([estimate, opcode])).toEqual(FORKS[fork]);
  });

  it('are the newest where it shows none', () => {
    expect(rulesShownBy([refused('method not found'), refused('internal error')])).toEqual(FORKS.osaka);
    const limited = { error: { code: -32_602, message: 'rate limit exceeded', data: undefined } };
    expect(rulesShownBy([WITH_FLOOR, limited])).toEqual(FORKS.osaka);
    expect(rulesShownBy([{ result: 'many' }, { result: null }])).toEqual(FORKS.osaka);
  });

  it('have the floor where the fee of a layer below is in the estimate', () => {
    expect(rulesShownBy([{ result: '0xffffff' }, KNOWN])).toEqual(FORKS.osaka);
  });

  it.each([
    ['ignores them', { result: '0x' }, 'it ignores the state overrides'],
    ['takes two parameters', refused('too many arguments, want at most 2'), 'too many arguments, want at most 2'],
    ['has another reason', refused('State overrides are disabled'), 'State overrides are disabled'],
  ])('cannot be read without state overrides, where the node %s', (_, opcode, message) => {
    const lacking = { method: 'eth_call with state overrides', message };
    expect(() => rulesShownBy([WITHOUT_FLOOR, opcode])).toThrow(expect.objectContaining(lacking));
  });
});
