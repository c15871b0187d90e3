import { describe, expect, it } from '@jest/globals';
import { HandOver } from './hand-over.ts';

const { signal } = new AbortController();
const turns = () => new Promise((resolve) => setImmediate(resolve));

describe('a hand-over', () => {
  it('lets who gives go on when the taker comes for the next', async () => {
    const handOver = new HandOver<string>();
    const settled: string[] = [];
    const given = handOver.give('first').then(() => settled.push('first'));
    expect(await handOver.take(signal)).toBe('first');
    await turns();
    expect(settled).toEqual([]);
    const next = handOver.take(signal);
    await given;
    void handOver.give('second');
    expect(await next).toBe('second');
  });

  it('keeps nobody waiting when the taker does not come back', async () => {
    const [taken, waiting] = [new HandOver<string>(), new HandOver<string>()];
    const given = [taken.give('taken'), waiting.give('not taken')];
    await taken.take(signal);
    for (const handOver of [taken, waiting]) handOver.end();
    await Promise.all([...given, taken.give('too late')]);
  });

  it('ends a taker who waits with the failure, or when told to', async () => {
    const handOver = new HandOver<string>();
    const stop = new AbortController();
    const stopped = handOver.take(stop.signal);
    stop.abort();
    expect(await stopped).toBeUndefined();
    const failed = handOver.take(signal);
    handOver.fail(new Error('the consumer crashed'));
    await expect(failed).rejects.toThrow('the consumer crashed');
  });
});
