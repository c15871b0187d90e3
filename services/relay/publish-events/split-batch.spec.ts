import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { LazyStoredEvent } from '../../../shared/event-store/stored-event.ts';
import { splitBatch } from './split-batch.ts';

const anEventOf = (characters: number, position: number): StoredEvent =>
  new LazyStoredEvent(position, 's', position, 'id', 'Type', 1, 0, 'x'.repeat(characters), '{}');
const sizesOf = (...characters: number[]) =>
  Array.from(splitBatch({ events: characters.map((count, at) => anEventOf(count, at + 1)), position: 99 }), (chunk) => [
    chunk.events.map(({ dataText }) => dataText.length),
    chunk.position,
  ]);

describe('the chunks of a batch', () => {
  it('are filled up to 4 million characters', () => {
    expect(sizesOf(3_999_999, 1, 1)).toEqual([
      [[3_999_999, 1], 2],
      [[1], 99],
    ]);
    expect(sizesOf(1, 4_000_000, 3_999_999, 1)).toEqual([
      [[1], 1],
      [[4_000_000], 2],
      [[3_999_999, 1], 99],
    ]);
  });

  it('are one when the batch is empty or has one event', () => {
    expect(sizesOf()).toEqual([[[], 99]]);
    expect(sizesOf(5_000_000)).toEqual([[[5_000_000], 99]]);
  });

  it('have every event in order, at most 4 million characters or one event, and the position of the last', () => {
    const sizes = fc.array(fc.constantFrom(1, 1_000, 260_000, 900_000, 4_100_000), { maxLength: 40 });
    fc.assert(
      fc.property(sizes, fc.nat(3), (characters, beyond) => {
        const events = characters.map((count, index) => anEventOf(count, index + 1));
        const end = events.length + beyond;
        const chunks = [...splitBatch({ events, position: end })];
        expect(chunks.flatMap((chunk) => chunk.events)).toEqual(events);
        expect(chunks.at(-1)?.position).toBe(end);
        for (const chunk of chunks.slice(0, -1)) expect(chunk.position).toBe(chunk.events.at(-1)?.position);
        for (const chunk of chunks) {
          const held = chunk.events.reduce((sum, { dataText }) => sum + dataText.length, 0);
          expect(chunk.events.length <= 1 || held <= 4_000_000).toBe(true);
        }
      }),
      { numRuns: 50 },
    );
  });
});
