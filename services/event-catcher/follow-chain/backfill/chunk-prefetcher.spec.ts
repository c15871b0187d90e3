import { beforeEach, describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { ChainUnavailable, RangeTooLarge } from '../../../../shared/chain/chain-reader.ts';
import type { BlockRange } from '../../../../shared/chain/client/refusals/suggested-range.ts';
import { Semaphore } from '../../../../shared/primitives/waiting/semaphore.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { ChunkSize } from '../../domain/backfill/chunk-size.ts';
import { ChunkPrefetcher, type BlocksRead, type Chunk } from './chunk-prefetcher.ts';

const PERMITS = 5;
const PATIENCE_MS = 5_000;

interface Asked extends BlockRange {
  answer: (read: BlocksRead) => void;
  refuse: (error: Error) => void;
}

const recordIn = (BlockNumber: number) => ({ ...eventExamples.ChainEventObserved, BlockNumber });
const answerOf = (blocks: number[] = [], bytes = blocks.length * 500): BlocksRead => ({
  records: blocks.map(recordIn),
  watches: 1,
  bytes,
});
const rangesOf = (ranges: readonly BlockRange[]) => ranges.map(({ from, to }) => [from, to]);

describe('the chunks of a reading', () => {
  let chunks: Semaphore;
  let size: ChunkSize;
  let stop: AbortController;
  let isOver: boolean;
  /** Requests that are neither answered nor refused. */
  let asked: Asked[];
  let ahead: ChunkPrefetcher;
  const reading = () =>
    new ChunkPrefetcher(
      {
        size,
        chunks,
        isOver: () => isOver,
        read: ({ from, to }) => {
          const { promise, resolve, reject } = Promise.withResolvers<BlocksRead>();
          asked.push({ from, to, answer: resolve, refuse: reject });
          return promise;
        },
      },
      stop.signal,
    );
  beforeEach(() => {
    chunks = new Semaphore(PERMITS);
    size = new ChunkSize();
    // 100 blocks.
    size.answered({ blocks: 10, events: 0 });
    size.refused(101, { blocks: 100 });
    stop = new AbortController();
    isOver = false;
    asked = [];
    ahead = reading();
  });

  const take = async (from: number): Promise<Asked> => {
    const isFound = () => asked.some((one) => one.from === from);
    await eventually(isFound, PATIENCE_MS, `block ${String(from)} must be requested`);
    const at = asked.findIndex((one) => one.from === from);
    const [one] = asked.splice(at, 1);
    if (!one) throw new Error('it was found');
    return one;
  };
  const answer = async (from: number, read = answerOf()) => {
    (await take(from)).answer(read);
  };
  const all = { from: 0, to: 9_999 };
  /** Reads the first chunk, whose storing then goes on. */
  const begin = async (read = answerOf()): Promise<Chunk> => {
    const first = ahead.next(all);
    await answer(0, read);
    return first;
  };
  const isIdle = () => eventually(() => chunks.isIdle, PATIENCE_MS, 'all permits must be given back');

  it('are requested one by one until a provider has answered, then several at a time', async () => {
    const first = ahead.next(all);
    const begun = await take(0);
    expect([begun.to, asked]).toEqual([99, []]);
    begun.answer(answerOf());
    await first;
    expect(rangesOf(asked)).toEqual([
      [100, 199],
      [200, 299],
      [300, 399],
    ]);
    ahead.stored(100);
    const second = ahead.next({ ...all, from: 100 });
    expect(asked).toHaveLength(4);
    await answer(100);
    await second;
    expect(asked).toHaveLength(3);
    ahead.close();
    for (const one of asked) one.answer(answerOf());
    await isIdle();
  });

  it('are given out in the order of their blocks, whichever is answered first', async () => {
    await begin();
    ahead.stored(100);
    const second = ahead.next({ ...all, from: 100 });
    for (const from of [400, 300, 200, 100]) await answer(from, answerOf([from]));
    const given = [await second];
    for (const from of [200, 300]) {
      ahead.stored(from);
      given.push(await ahead.next({ ...all, from }));
    }
    expect(rangesOf(given)).toEqual([
      [100, 199],
      [200, 299],
      [300, 399],
    ]);
    expect(given.map(({ records }) => records[0]?.BlockNumber)).toEqual([100, 200, 300]);
  });

  it('are narrowed when refused, and each block is requested once more', async () => {
    await begin();
    ahead.stored(100);
    const second = ahead.next({ ...all, from: 100 });
    (await take(200)).refuse(new RangeTooLarge('at most 60', { blocks: 60 }));
    await answer(200);
    await answer(100);
    await second;
    ahead.stored(200);
    expect(await ahead.next({ ...all, from: 200 })).toMatchObject({ from: 200, to: 259 });
    expect(rangesOf(asked)).toContainEqual([260, 299]);
    expect(asked.filter(({ from }) => from >= 200 && from < 300)).toHaveLength(1);
  });

  it('that come next never wait for a permit that later ones have', async () => {
    await begin();
    await chunks.acquire(stop.signal);
    (await take(100)).refuse(new RangeTooLarge('at most 60', { blocks: 60 }));
    await answer(100);
    ahead.stored(100);
    await chunks.acquire(stop.signal);
    expect(await ahead.next({ ...all, from: 100 })).toMatchObject({ from: 100, to: 159 });
    const other = reading().next({ from: 5_000, to: 5_999 });
    ahead.stored(160);
    const third = ahead.next({ ...all, from: 160 });
    await answer(160);
    expect(await third).toMatchObject({ from: 160, to: 199 });
    expect(rangesOf(asked)).not.toContainEqual([5_000, 5_099]);
    ahead.stored(200);
    await answer(5_000);
    expect(await other).toMatchObject({ from: 5_000 });
  });

  it('of more blocks than were answered yet are requested one at a time', async () => {
    size = new ChunkSize();
    ahead = reading();
    const first = ahead.next(all);
    await answer(0);
    await first;
    expect(rangesOf(asked)).toEqual([[50, 549]]);
    ahead.stored(50);
    await answer(50);
    await ahead.next({ ...all, from: 50 });
    expect(rangesOf(asked)).toEqual([[550, 5_549]]);
  });

  it('are two where they are large: one is stored, and one requested', async () => {
    await begin(answerOf([1], 6_000_000));
    expect(rangesOf(asked)).toEqual([[100, 199]]);
  });

  it('are no more than one when it is over', async () => {
    await begin();
    isOver = true;
    for (const from of [100, 200, 300]) {
      ahead.stored(from);
      await answer(from);
      await ahead.next({ ...all, from });
    }
    expect(asked).toEqual([]);
    ahead.stored(400);
    expect(ahead.isRequested(400)).toBe(false);
    expect(chunks.isIdle).toBe(true);
  });

  it('end where they may, also when that is known later', async () => {
    const first = ahead.next({ from: 0, to: 149 });
    await answer(0);
    await first;
    expect(rangesOf(asked)).toEqual([[100, 149]]);
    ahead.stored(100);
    await answer(100, answerOf([119, 120]));
    const last = await ahead.next({ from: 100, to: 119 });
    expect([last.to, last.records.length]).toEqual([119, 1]);
  });

  it('fail in their order, after which no more are requested', async () => {
    await begin();
    ahead.stored(100);
    const second = ahead.next({ ...all, from: 100 });
    (await take(200)).refuse(new ChainUnavailable('down'));
    await answer(100);
    expect(await second).toMatchObject({ to: 199 });
    const before = asked.length;
    ahead.stored(200);
    await expect(ahead.next({ ...all, from: 200 })).rejects.toThrow('down');
    expect(asked).toHaveLength(before);
    ahead.close();
    for (const one of asked) one.refuse(new RangeTooLarge('at most 1', { blocks: 1 }));
    await isIdle();
    expect(asked).toHaveLength(before);
  });

  it('give their permits back when the signal aborts', async () => {
    await begin();
    await chunks.acquire(stop.signal);
    const waiting = reading();
    const chunk = waiting.next(all);
    stop.abort(new Error('stopped'));
    await expect(chunk).rejects.toThrow('stopped');
    waiting.close();
    chunks.release();
    ahead.close();
    for (const one of asked) one.refuse(new Error('stopped'));
    await isIdle();
  });
});
