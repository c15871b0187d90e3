import { describe, expect, it } from '@jest/globals';
import { setImmediate as nextTick } from 'node:timers/promises';
import { LimitedByKey } from './limited-by-key.ts';

/** Tasks that end when the test says so. */
const tasksOf = (limited: LimitedByKey) => {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    started,
    end: async (name: string) => {
      ends.get(name)?.();
      await nextTick();
    },
    run: (key: string, name: string, signal = new AbortController().signal) =>
      limited.run(key, signal, () => {
        started.push(name);
        const { promise, resolve } = Promise.withResolvers<string>();
        ends.set(name, () => {
          resolve(name);
        });
        return promise;
      }),
  };
};

describe('tasks', () => {
  it('of a key run so many at a time, in their order, and others beside them', async () => {
    const { started, end, run } = tasksOf(new LimitedByKey(2));
    const all = [run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('a', 'a4'), run('b', 'b1')];
    await nextTick();
    expect(started).toEqual(['a1', 'a2', 'b1']);
    await end('a2');
    expect(started).toEqual(['a1', 'a2', 'b1', 'a3']);
    await end('a1');
    for (const name of ['a3', 'a4', 'b1']) await end(name);
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'a4', 'b1']);
  });

  it('that fail, or are given up before they begin, make room for the next', async () => {
    const limited = new LimitedByKey(1);
    const signal = new AbortController().signal;
    await expect(limited.run('a', signal, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    const { started, end, run } = tasksOf(limited);
    const leaving = new AbortController();
    const first = run('a', 'first');
    const given = run('a', 'given up', leaving.signal);
    const last = run('a', 'last');
    leaving.abort(new Error('the client left'));
    await expect(given).rejects.toThrow('the client left');
    await end('first');
    expect(started).toEqual(['first', 'last']);
    await end('last');
    expect(await Promise.all([first, last])).toEqual(['first', 'last']);
  });
});
