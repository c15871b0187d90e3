import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { arrivalOf, extend, type LinkedBlock, type Window } from './window.ts';

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
    [
      'another branch, a block long',
      block(7, 'G', 'f'),
      { kind: 'reorganisation', removed: ['g'], kept: ['d', 'e', 'f'] },
    ],
    [
      'another branch from the final block',
      block(5, 'E', 'd'),
      { kind: 'reorganisation', removed: ['g', 'f', 'e'], kept: ['d'] },
    ],
    ['another branch whose beginning is unknown', block(8, 'H', 'G'), { kind: 'fork', parentHash: 'G' }],
    ['another final block', block(4, 'D', 'c'), { kind: 'deeper-than-finality' }],
    ['a child of another final block', block(5, 'E', 'D'), { kind: 'deeper-than-finality' }],
    ['a block with the wrong number', block(9, 'x', 'g'), { kind: 'impossible' }],
  ])('takes %s for what it is', (_what, header, expected) => {
    const arrival = arrivalOf(window, header);
    const hashes = (blocks: readonly LinkedBlock[]) => blocks.map(({ hash }) => hash);
    expect(
      arrival.kind === 'reorganisation'
        ? { kind: arrival.kind, removed: hashes(arrival.removed), kept: hashes(arrival.kept) }
        : arrival,
    ).toEqual(expected);
  });

  it('keeps so many blocks behind the tip as may be reorganised, and the final one', () => {
    const longer = extend(window, block(8, 'h', 'g'), 2);
    expect(longer.map(({ hash }) => hash)).toEqual(['f', 'g', 'h']);
  });

  it('stays linked, whatever headers arrive', () => {
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
          const arrival = arrivalOf(followed, header);
          if (arrival.kind === 'reorganisation') {
            expect([...arrival.kept, ...arrival.removed.toReversed()]).toEqual(followed);
            followed = extend(arrival.kept, header, 5);
          }
          if (arrival.kind === 'extension') followed = extend(followed, header, 5);
          expect(isLinked(followed)).toBe(true);
          expect(followed.length).toBeLessThanOrEqual(6);
        }
      }),
    );
  });
});
