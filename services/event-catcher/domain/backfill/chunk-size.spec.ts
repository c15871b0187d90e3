import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ChunkSize } from './chunk-size.ts';

/** Returns the size after a number of answered chunks with this many events in each block. */
const after = (chunks: number, eventsPerBlock: number, size = new ChunkSize()): ChunkSize => {
  for (let left = chunks; left > 0; left -= 1) {
    size.answered({ blocks: size.blocks, events: Math.floor(size.blocks * eventsPerBlock) });
  }
  return size;
};

describe('the size of a chunk', () => {
  it('begins with 50 blocks', () => {
    expect(new ChunkSize().blocks).toBe(50);
  });

  it('grows tenfold at a time where there are few events, up to 100,000 blocks', () => {
    expect([1, 2, 3, 4, 5].map((chunks) => after(chunks, 0).blocks)).toEqual([500, 5_000, 50_000, 100_000, 100_000]);
  });

  it('is adjusted to hold about 8,000 events', () => {
    expect(after(1, 100).blocks).toBe(80);
    expect(after(1, 1_000).blocks).toBe(8);
    expect(after(3, 2).blocks).toBe(4_000);
    expect(after(1, 100_000).blocks).toBe(1);
  });

  it('is half of what the provider refused, if that says nothing, and rises again', () => {
    const size = after(2, 0);
    size.refused(5_000);
    expect(size.blocks).toBe(2_500);
    expect(after(9, 0, size).blocks).toBe(2_500);
    expect(after(1, 0, size).blocks).toBe(3_750);
    expect(after(300, 0, size).blocks).toBeGreaterThan(5_000);
  });

  it('is what the provider suggests, at once, and remains it for a while', () => {
    const size = after(2, 0);
    size.refused(5_000, { blocks: 2_048 });
    expect(size.blocks).toBe(2_048);
    expect(after(9, 0, size).blocks).toBe(2_048);
  });

  it('remains what a provider suggests for how many logs there are until these were read, and no longer', () => {
    const size = after(3, 0);
    size.refused(50_000, { blocks: 400, of: 'logs' });
    expect(size.blocks).toBe(400);
    expect(after(1, 2, size).blocks).toBe(400);
    expect(after(1, 2, size).blocks).toBe(400);
    expect(after(1, 0, size).blocks).toBe(4_000);
    expect(after(2, 0, size).blocks).toBe(100_000);
  });

  it('is halved through blocks of too many logs, and then holds fewer events than these had', () => {
    const size = after(2, 0);
    size.refused(5_000, { blocks: 2_500, of: 'logs' });
    size.refused(2_500, { blocks: 1_250, of: 'logs' });
    expect(after(1, 2, size).blocks).toBe(1_250);
    expect(after(1, 2, size).blocks).toBe(1_250);
    expect(after(1, 1, size).blocks).toBe(2_500);
    expect(after(1, 4, size).blocks).toBe(625);
    expect(after(1, 0, size).blocks).toBe(6_250);
  });

  it('is not what other blocks than those refused have, which were asked for at the same time', () => {
    const size = after(2, 0);
    size.refused(5_000, { blocks: 2_500, of: 'logs' });
    for (const events of [3, 0, 2]) size.answered({ blocks: 5_000, events });
    expect(size.blocks).toBe(2_500);
    after(2, 4, size);
    expect(after(2, 0, size).blocks).toBe(100_000);
  });

  it('is bounded where a provider is too slow for blocks that have few logs', () => {
    const size = after(2, 0);
    size.refused(5_000, { blocks: 2_500, of: 'logs' });
    expect(after(2, 0.001, size).blocks).toBe(2_500);
    expect(after(5, 0.001, size).blocks).toBe(2_500);
  });

  it('is not lowered by an answer to a smaller request that was made before it grew', () => {
    const size = after(2, 0);
    size.answered({ blocks: 50, events: 0 });
    expect(size.blocks).toBe(5_000);
    size.answered({ blocks: 50, events: 5 });
    expect(size.blocks).toBe(5_000);
  });

  it('follows how many logs a provider returns: no longer than there are many', () => {
    const size = after(3, 0);
    size.refused(50_000, { blocks: 400, logsMax: 1_000 });
    expect(size.blocks).toBe(400);
    expect(after(1, 2, size).blocks).toBe(400);
    expect(after(1, 4, size).blocks).toBe(200);
    expect(after(3, 0, size).blocks).toBe(100_000);
    size.refused(100_000, { blocks: 50_000, logsMax: 20_000 });
    expect(after(1, 4, size).blocks).toBe(200);
  });

  it('is never less than one block, and less than what was refused', () => {
    const suggestion = fc.record(
      {
        blocks: fc.integer({ min: 1, max: 200_000 }),
        of: fc.constantFrom('blocks', 'logs'),
        logsMax: fc.integer({ min: 1, max: 50_000 }),
      },
      { requiredKeys: [] },
    );
    const step = fc.record({ isAnswer: fc.boolean(), events: fc.nat(100_000), suggestion });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const size = new ChunkSize();
        for (const { isAnswer, events, suggestion: suggested } of steps) {
          const { blocks } = size;
          if (isAnswer) size.answered({ blocks, events });
          else {
            size.refused(blocks, suggested);
            expect(size.blocks).toBeLessThan(Math.max(2, blocks));
          }
          expect(size.blocks).toBeGreaterThanOrEqual(1);
          expect(size.blocks).toBeLessThanOrEqual(100_000);
        }
      }),
    );
  });
});
