import { describe, expect, it } from '@jest/globals';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import { UnverifiableBlocks } from './skipped-blocks.ts';

describe('blocks that are refused', () => {
  it('are compared fewer at a time, down to one, and more once that has succeeded, whatever other keys do', () => {
    const blocks = new UnverifiableBlocks(new MemoryChain(1), { elapsed: () => 0 });
    const most = () => [blocks.blocksMost('a'), blocks.blocksMost('b')];
    expect(most()).toEqual([Infinity, Infinity]);
    blocks.narrow(['a', 'b'], 10);
    blocks.widen(['c']);
    expect(most()).toEqual([5, 5]);
    blocks.narrow(['a'], 5);
    blocks.narrow(['a'], 2);
    blocks.narrow(['a'], 1);
    expect(most()).toEqual([1, 5]);
    blocks.widen(['a', 'b']);
    expect(most()).toEqual([2, 10]);
    blocks.keep(new Set(['a']));
    expect(most()).toEqual([2, Infinity]);
  });
});
