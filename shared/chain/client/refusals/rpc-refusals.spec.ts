import { describe, expect, it } from '@jest/globals';
import { unnamedRanges } from '../../../testing/chain/known-refusals/unnamed-ranges.ts';
import { namedRanges, type KnownRefusal } from '../../../testing/chain/known-refusals/named-ranges.ts';
import { refusalsOfOtherKinds } from '../../../testing/chain/known-refusals/refusals-of-other-kinds.ts';
import { refusalOf, textOfError } from './rpc-refusals.ts';

const ASKED = { from: 1_000_000, to: 1_999_999 };
const known = [...namedRanges, ...unnamedRanges, ...refusalsOfOtherKinds];

const expected = ({ is, asked = ASKED, blocks = 0, of, logsMax, retryAfterMs }: KnownRefusal) => {
  if (is === 'range-too-large') {
    const isNamed = expect.any(Boolean) as unknown;
    return { kind: is, to: asked.from + blocks - 1, of, isNamed, logsMax };
  }
  return is === 'rate-limited' ? { kind: is, retryAfterMs } : { kind: is };
};
const decided = (error: object, { httpStatus, code, asked = ASKED }: KnownRefusal) =>
  refusalOf(textOfError(error), { httpStatus, code }, asked);
const titled = known.map((refusal) => [`${refusal.by}: ${refusal.message}`, refusal] as const);

describe('the table of refusals', () => {
  it.each(titled)('is decided as it stands: %s', (_, refusal) => {
    const { code, message, data } = refusal;
    expect(decided({ code, message, data }, refusal)).toEqual(expected(refusal));
  });

  it.each(titled)('is decided where `data` says it and the message does not: %s', (_, refusal) => {
    const { code, message, data } = refusal;
    const text = [message, data].filter((part) => typeof part === 'string').join(' ');
    const inText = decided({ code, message: 'invalid params', data: text }, refusal);
    const inObject = decided({ code, message: 'invalid params', data: { payload: text, see: data } }, refusal);
    if (data === undefined || typeof data === 'string') expect(inText).toEqual(expected(refusal));
    expect(inObject).toEqual(expected(refusal));
  });

  it('tells a range that is named from a half', () => {
    const isNamed = ({ message, data, asked = ASKED, httpStatus }: KnownRefusal) => {
      const refusal = refusalOf(textOfError({ message, data }), { httpStatus }, asked);
      return refusal.kind === 'range-too-large' && refusal.isNamed;
    };
    expect(namedRanges.filter((refusal) => !isNamed(refusal)).map(({ by }) => by)).toEqual([
      'reth, results, which names what was asked',
    ]);
    expect(unnamedRanges.filter(isNamed)).toEqual([]);
  });

  it('names no range where none was asked for', () => {
    const ofRanges = [...namedRanges, ...unnamedRanges].map(({ message }) => refusalOf(message).kind);
    expect(ofRanges).not.toContain('range-too-large');
  });

  it('never asks for more than was refused, nor for less than a block', () => {
    for (const { message, data, httpStatus } of [...namedRanges, ...unnamedRanges]) {
      for (const blocks of [1, 2, 3, 7, 99]) {
        const asked = { from: 5, to: 4 + blocks };
        const refusal = refusalOf(textOfError({ message, data }), { httpStatus }, asked);
        expect(refusal).toMatchObject({ kind: 'range-too-large' });
        if (refusal.kind !== 'range-too-large') continue;
        expect(refusal.to).toBeGreaterThanOrEqual(5);
        expect(refusal.to).toBeLessThan(blocks === 1 ? 6 : 4 + blocks);
      }
    }
  });

  it('is decided by nobody but the endpoint: what a contract says when it reverts is neither of a range nor of a rate', () => {
    const said = ['eth_getLogs is limited to a 5 range', 'too many requests', 'Monthly capacity limit exceeded'];
    const decidedAs = said.map((text) => refusalOf(`execution reverted: ${text}`, { code: 3 }, ASKED).kind);
    expect(decidedAs).toEqual(['other', 'other', 'other']);
  });

  it('waits as long as the header says, before what the text says', () => {
    const text = 'Too many requests, retry in 10s';
    expect(refusalOf(text, { httpStatus: 429, retryAfterMs: 5_000 })).toEqual({
      kind: 'rate-limited',
      retryAfterMs: 5_000,
    });
  });
});
