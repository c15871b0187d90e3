import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  classifyHeader,
  splitAfter,
  extend,
  follows,
  linkedWindow,
  tipOf,
  type FinalBlock,
  type LinkedBlock,
  type Window,
} from './window.ts';

const block = (number: number, hash: string, parentHash: string): LinkedBlock => ({ number, hash, parentHash });
const window: Window<LinkedBlock> = [block(4, 'd', 'c'), block(5, 'e', 'd'), block(6, 'f', 'e'), block(7, 'g', 'f')];

const isLinked = (blocks: readonly LinkedBlock[]): boolean =>
  blocks.every((one, at) => {
    const before = blocks[at - 1];
    return before === undefined || (one.parentHash === before.hash && one.number === before.number + 1);
  });

describe('the window of a chain', () => {
  it.each([
    ['a block of the window', block(6, 'f', 'e'), { kind: 'duplicate' }],
    ['a block from before the window', block(2, 'x', 'y'), { kind: 'duplicate' }],
    ['the block after the tip', block(8, 'h', 'g'), { kind: 'extension' }],
    ['a block further ahead', block(11, 'k', 'j'), { kind: 'gap', from: 8, to: 10 }],
    ['another branch of one block', block(7, 'G', 'f'), { kind: 'reorganisation' }],
    ['another branch from the final block', block(5, 'E', 'd'), { kind: 'reorganisation' }],
    ['another branch whose beginning is unknown', block(8, 'H', 'G'), { kind: 'fork' }],
    ['another final block', block(4, 'D', 'c'), { kind: 'deeper-than-finality' }],
    ['a child of another final block', block(5, 'E', 'D'), { kind: 'deeper-than-finality' }],
    ['a block with the wrong number', block(9, 'x', 'g'), { kind: 'invalid' }],
  ])('classifies %s', (_what, header, expected) => {
    expect(classifyHeader(window, header)).toEqual(expected);
  });

  it('keeps the blocks that may be reorganised, and the final one before them', () => {
    const longer = extend(window, block(8, 'h', 'g'), { number: 6 });
    expect(longer.map(({ hash }) => hash)).toEqual(['f', 'g', 'h']);
  });

  it('keeps all of them while the final block is older, newer, or on another branch', () => {
    const hashes = ({ number, hash }: FinalBlock) =>
      extend(window, block(8, 'h', 'g'), { number, ...(hash === undefined ? {} : { hash }) }).map((kept) => kept.hash);
    expect(hashes({ number: 6, hash: 'f' })).toEqual(['f', 'g', 'h']);
    expect(hashes({ number: 8, hash: 'h' })).toEqual(['h']);
    for (const final of [{ number: 3 }, { number: 3, hash: 'c' }, { number: 6, hash: 'x' }, { number: 9, hash: 'i' }])
      expect(hashes(final)).toEqual(['d', 'e', 'f', 'g', 'h']);
  });

  it('has a tip, which the next block follows', () => {
    expect(tipOf(window)).toBe(window[3]);
    expect(tipOf([block(4, 'd', 'c')]).hash).toBe('d');
    expect(follows(window, block(8, 'h', 'g'))).toBe(true);
    expect(follows(window, block(8, 'h', 'f'))).toBe(false);
    expect(follows(window, block(9, 'h', 'g'))).toBe(false);
  });

  it('consists of blocks that follow one another', () => {
    expect(linkedWindow(window)).toEqual(window);
    expect(linkedWindow([block(4, 'd', 'c')])).toEqual([block(4, 'd', 'c')]);
    expect(linkedWindow([])).toBeUndefined();
    expect(linkedWindow([block(4, 'd', 'c'), block(5, 'e', 'x')])).toBeUndefined();
    expect(linkedWindow([block(4, 'd', 'c'), block(6, 'e', 'd')])).toBeUndefined();
  });

  it('is split after one of its blocks, and the removed blocks come newest first', () => {
    const [first, second, third, fourth] = window;
    expect(splitAfter(window, 'e')).toEqual({ kept: [first, second], removed: [fourth, third] });
    expect(splitAfter(window, 'd')).toEqual({ kept: [first], removed: [fourth, third, second] });
  });

  it('stays linked, whatever headers come', () => {
    const someHeader = fc
      .record({
        number: fc.integer({ min: 0, max: 14 }),
        fork: fc.integer({ min: 0, max: 2 }),
        parentFork: fc.integer({ min: 0, max: 2 }),
      })
      .map(({ number, fork, parentFork }) =>
        block(number, `${String(number)}/${String(fork)}`, `${String(number - 1)}/${String(parentFork)}`),
      );
    const garbage = fc.record({
      number: fc.nat({ max: 14 }),
      hash: fc.string(),
      parentHash: fc.constantFrom('4/0', '5/0', 'x'),
    });
    fc.assert(
      fc.property(fc.array(fc.oneof({ weight: 5, arbitrary: someHeader }, garbage), { maxLength: 60 }), (headers) => {
        let followed: Window<LinkedBlock> = [block(4, '4/0', '3/0')];
        for (const header of headers) {
          const { kind } = classifyHeader(followed, header);
          if (kind === 'reorganisation') {
            const { kept, removed } = splitAfter(followed, header.parentHash);
            expect([...kept, ...removed.toReversed()]).toEqual(followed);
            followed = extend(kept, header, { number: header.number - 5 });
          }
          if (kind === 'extension') followed = extend(followed, header, { number: header.number - 5 });
          expect(isLinked(followed)).toBe(true);
          expect(followed.length).toBeLessThanOrEqual(6);
        }
      }),
    );
  });
});
