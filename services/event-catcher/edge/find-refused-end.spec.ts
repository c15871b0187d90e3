import { describe, expect, it } from '@jest/globals';
import { BlocksRefused, ChainUnavailable, RangeTooLarge } from '../../../shared/chain/chain-reader.ts';
import { findRefusedEnd } from './find-refused-end.ts';

const ANY = { addresses: [], topics: [] };
const refused = new BlocksRefused('refused', { reason: 'refused', isPrunedEverywhere: true });

describe('the last block that is refused together with the first', () => {
  /** @returns what was found, and the number of requests */
  const found = async (from: number, to: number, errorOf: (block: number) => Error | undefined) => {
    let asked = 0;
    const reader = {
      logsOfRange: (block: number, end: number) => {
        asked += 1;
        const error = block === end ? errorOf(block) : new Error('one block is asked for at a time');
        return error ? Promise.reject(error) : Promise.resolve([]);
      },
    };
    return { last: await findRefusedEnd(reader, ANY, { from, to }), asked };
  };

  it.each([
    [0, 0, 0],
    [0, 100, 0],
    [0, 100, 49],
    [0, 100, 99],
    [0, 100, 100],
    [15_000_000, 25_000_000, 15_537_393],
    [0, 25_000_000, 25_000_000],
  ])('of blocks %s to %s is found in few requests: %s', async (from, to, last) => {
    const search = await found(from, to, (block) => (block <= last ? refused : undefined));
    expect(search.last).toBe(last);
    expect(search.asked).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(to - from + 2)));
  });

  it('is before blocks that are too much for a provider, and not found while none answers', async () => {
    const tooLarge = await found(0, 100, (block) => (block < 8 ? refused : new RangeTooLarge('too many logs')));
    expect(tooLarge.last).toBe(7);
    const away = found(0, 100, (block) => (block < 8 ? refused : new ChainUnavailable('nobody answers')));
    await expect(away).rejects.toThrow('nobody answers');
  });
});
