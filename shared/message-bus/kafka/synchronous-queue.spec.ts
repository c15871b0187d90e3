import { describe, expect, it } from '@jest/globals';
import { SynchronousQueue } from './synchronous-queue.ts';

const { signal } = new AbortController();
const nextTick = () => new Promise((resolve) => setImmediate(resolve));

describe('a synchronous queue', () => {
  it('resolves a put when the next item is taken', async () => {
    const queue = new SynchronousQueue<string>();
    const done: string[] = [];
    const given = queue.put('first').then(() => done.push('first'));
    expect(await queue.take(signal)).toBe('first');
    await nextTick();
    expect(done).toEqual([]);
    const next = queue.take(signal);
    await given;
    void queue.put('second');
    expect(await next).toBe('second');
  });

  it('resolves a put when the queue ends', async () => {
    const [taken, waiting] = [new SynchronousQueue<string>(), new SynchronousQueue<string>()];
    const given = [taken.put('taken'), waiting.put('not taken')];
    await taken.take(signal);
    for (const queue of [taken, waiting]) queue.end();
    await Promise.all([...given, taken.put('too late')]);
  });

  it('ends a waiting take with the failure, or when its signal aborts', async () => {
    const queue = new SynchronousQueue<string>();
    const stop = new AbortController();
    const stopped = queue.take(stop.signal);
    stop.abort();
    expect(await stopped).toBeUndefined();
    const failed = queue.take(signal);
    queue.fail(new Error('the consumer crashed'));
    await expect(failed).rejects.toThrow('the consumer crashed');
  });
});
