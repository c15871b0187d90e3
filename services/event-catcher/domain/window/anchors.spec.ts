import { describe, expect, it } from '@jest/globals';
import { withAnchor, type Anchor } from './anchors.ts';

const after = (blocks: number, every: number): readonly Anchor[] => {
  let anchors: readonly Anchor[] = [];
  for (let number = 0; number < blocks; number += every)
    anchors = withAnchor(anchors, { number, hash: `0x${String(number)}` }, number + every);
  return anchors;
};

describe('the final blocks that are kept', () => {
  it.each([1, 7, 64])('are few, and as near as they are deep, where every %s blocks one is final', (every) => {
    for (const blocks of [every, 100 * every, 10_000 * every]) {
      const anchors = after(blocks, every);
      expect(anchors.length).toBeLessThan(20);
      expect(anchors[0]?.number).toBe(0);
      for (let depth = every; depth < blocks; depth *= 2) {
        const kept = anchors.findLast(({ number }) => number <= blocks - depth);
        expect(blocks - (kept?.number ?? Infinity)).toBeLessThanOrEqual(4 * depth + every);
      }
    }
  });
});
