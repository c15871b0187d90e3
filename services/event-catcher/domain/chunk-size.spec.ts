import { describe, expect, it } from '@jest/globals';
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

  it('is at most half of what the provider refused', () => {
    const size = new ChunkSize();
    size.refused(1_001);
    expect(size.blocks).toBe(500);
    expect(after(100, 0, size).blocks).toBe(500);
    size.refused(1);
    expect(size.blocks).toBe(1);
  });

  it('is doubled after a hundred chunks in a row were answered at that limit', () => {
    const size = new ChunkSize();
    size.refused(400);
    expect(after(100, 0, size).blocks).toBe(200);
    expect(after(1, 0, size).blocks).toBe(400);
    expect(after(100, 0, size).blocks).toBe(400);
    expect(after(1, 0, size).blocks).toBe(800);
  });

  it('is not doubled for chunks below the limit, nor for chunks before another refusal', () => {
    const size = new ChunkSize();
    size.refused(400);
    after(99, 0, size);
    size.answered({ blocks: 199, events: 0 });
    expect(after(100, 0, size).blocks).toBe(200);
    size.refused(400);
    expect(after(100, 0, size).blocks).toBe(200);
  });

  it('never exceeds 100,000 blocks, however often it is doubled', () => {
    const size = new ChunkSize();
    size.refused(150_000);
    expect(after(101, 0, size).blocks).toBe(100_000);
  });
});
