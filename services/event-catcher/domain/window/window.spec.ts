import { describe, expect, it } from '@jest/globals';
import type { LinkedBlock, Window } from '../../../../shared/chain/window.ts';
import { isFarAhead, toWindow } from './window.ts';

const block = (number: number, hash: string, parentHash: string): LinkedBlock => ({ number, hash, parentHash });
const window: Window<LinkedBlock> = [block(4, 'd', 'c'), block(5, 'e', 'd'), block(6, 'f', 'e'), block(7, 'g', 'f')];

describe('the window of a chain that is followed', () => {
  it('is far behind a head whose final block is more than 500 blocks away', () => {
    expect(isFarAhead(window, { number: 7 + 500 })).toBe(false);
    expect(isFarAhead(window, { number: 7 + 501 })).toBe(true);
  });

  it('keeps number, hash, parent and time of a header, and the position since which it is read', () => {
    const header = { number: 4, hash: 'd', parentHash: 'c', timestamp: 7, logsBloom: '0x' };
    const next = { number: 5, hash: 'e', parentHash: 'd', timestamp: 8, logsBloom: '0x' };
    expect(toWindow([header, next], 30)).toEqual([
      { number: 4, hash: 'd', parentHash: 'c', timestamp: 7, since: 30 },
      { number: 5, hash: 'e', parentHash: 'd', timestamp: 8, since: 30 },
    ]);
  });
});
