import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { appendChunks } from './append-chunks.ts';

const record = (EventName: string) => ({ ...eventExamples.ChainEventObserved, EventName });
const records = (count: number, bytes = 10) => Array.from({ length: count }, () => record('x'.repeat(bytes)));

describe('what is appended at once', () => {
  it('is all of it, in order', () => {
    const all = records(2_500).map((one, index) => ({ ...one, LogIndex: index }));
    const chunks = appendChunks(all);
    expect(chunks.length).toBeGreaterThan(1);
    expect(chunks.flat()).toEqual(all);
    expect(appendChunks([])).toEqual([]);
  });

  it('stays below the mebibyte that EventStoreDB takes', () => {
    const chunks = appendChunks(records(1_000, 5_000));
    expect(chunks.flat()).toHaveLength(1_000);
    for (const chunk of chunks) expect(Buffer.byteLength(JSON.stringify(chunk))).toBeLessThan(950_000);
  });

  it('counts bytes, not characters', () => {
    const [chunk] = appendChunks(Array.from({ length: 4 }, () => record('€'.repeat(100_000))));
    expect(chunk).toHaveLength(2);
  });

  it('leaves what is too large by itself alone', () => {
    const chunks = appendChunks([...records(2), ...records(1, 2_000_000), ...records(2)]);
    expect(chunks.map(({ length }) => length)).toEqual([2, 1, 2]);
  });
});
