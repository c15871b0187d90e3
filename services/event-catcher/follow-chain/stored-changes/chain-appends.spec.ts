import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { MemoryEventStore } from '../../../../shared/testing/engines/event-store.memory.ts';
import { NO_STREAM, WrongExpectedRevision } from '../../../../shared/event-store/event-store.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { appendChunks, ChainAppends } from './chain-appends.ts';

const STREAM = 'chain-2484';

/** Fences a stream to which others append this many times, each time right after it was read. */
const fenceWhileOthersAppend = (times: number) => {
  const eventStore = new MemoryEventStore();
  const dependencies = { eventStore, clock: systemClock, ids: systemIds };
  const appends = new ChainAppends(dependencies, new AbortController().signal, true);
  let left = times;
  const read = async () => {
    const [newest = { revision: NO_STREAM, position: 0 }] = await eventStore.read(STREAM, {
      direction: 'backwards',
      limit: 1,
    });
    if (left > 0) await eventStore.append(STREAM, newest.revision, [anEvent()]);
    left -= 1;
    return { newest, seen: newest.revision + 1 };
  };
  const fenced = appends.readFenced(STREAM, read, () => ({ type: 'FollowerReplaced', data: { chainId: 2484 } }));
  return { fenced, eventStore };
};

describe('a stream that is fenced', () => {
  it('is read again until nobody appended in between', async () => {
    const { fenced, eventStore } = fenceWhileOthersAppend(3);
    expect(await fenced).toMatchObject({ seen: 3, newest: { revision: 3 } });
    expect((await eventStore.read(STREAM)).map(({ type }) => type)).toEqual([
      ...Array<string>(3).fill('Happened'),
      'FollowerReplaced',
    ]);
  });

  it('is given up if others keep appending to it', async () => {
    const { fenced, eventStore } = fenceWhileOthersAppend(200);
    await expect(fenced).rejects.toBeInstanceOf(WrongExpectedRevision);
    expect((await eventStore.read(STREAM)).map(({ type }) => type)).not.toContain('FollowerReplaced');
  });
});

const event = (EventName: string, LogIndex = 0) => ({
  dataText: JSON.stringify({ ...eventExamples.ChainEventObserved, EventName, LogIndex }),
});
const events = (count: number, bytes = 10) => Array.from({ length: count }, () => event('x'.repeat(bytes)));

describe('the chunks of an append', () => {
  it('contain all events in order', () => {
    const all = Array.from({ length: 2_500 }, (_, index) => event('x', index));
    const chunks = [...appendChunks(all)];
    expect(chunks.length).toBeGreaterThan(1);
    expect(chunks.flat()).toEqual(all);
    expect([...appendChunks([])]).toEqual([]);
  });

  it('stay below the mebibyte that EventStoreDB takes', () => {
    const chunks = [...appendChunks(events(1_000, 5_000))];
    expect(chunks.flat()).toHaveLength(1_000);
    for (const chunk of chunks) expect(Buffer.byteLength(JSON.stringify(chunk))).toBeLessThan(950_000);
  });

  it('are measured in bytes, not in characters', () => {
    const [chunk] = appendChunks(Array.from({ length: 4 }, () => event('€'.repeat(100_000))));
    expect(chunk).toHaveLength(2);
  });

  it('contain an event that is too large alone', () => {
    const chunks = [...appendChunks([...events(2), ...events(1, 2_000_000), ...events(2)])];
    expect(chunks.map(({ length }) => length)).toEqual([2, 1, 2]);
  });
});
