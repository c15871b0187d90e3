import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { appendChunks } from './chain-appends.ts';

const event = (EventName: string) => ({ data: { ...eventExamples.ChainEventObserved, EventName } });
const events = (count: number, bytes = 10) => Array.from({ length: count }, () => event('x'.repeat(bytes)));

describe('what is appended at once', () => {
  it('is all of it, in order', () => {
    const all = events(2_500).map(({ data }, index) => ({ data: { ...data, LogIndex: index } }));
    const chunks = appendChunks(all);
    expect(chunks.length).toBeGreaterThan(1);
    expect(chunks.flat()).toEqual(all);
    expect(appendChunks([])).toEqual([]);
  });

  it('stays below the mebibyte that EventStoreDB takes', () => {
    const chunks = appendChunks(events(1_000, 5_000));
    expect(chunks.flat()).toHaveLength(1_000);
    for (const chunk of chunks) expect(Buffer.byteLength(JSON.stringify(chunk))).toBeLessThan(950_000);
  });

  it('counts bytes, not characters', () => {
    const [chunk] = appendChunks(Array.from({ length: 4 }, () => event('€'.repeat(100_000))));
    expect(chunk).toHaveLength(2);
  });

  it('leaves what is too large by itself alone', () => {
    const chunks = appendChunks([...events(2), ...events(1, 2_000_000), ...events(2)]);
    expect(chunks.map(({ length }) => length)).toEqual([2, 1, 2]);
  });
});
