import { describe, expect, it } from '@jest/globals';
import { Semaphore } from './semaphore.ts';

const asked = (semaphore: Semaphore, names: readonly string[], signal = new AbortController().signal) => {
  const given: string[] = [];
  const asking = names.map((name) => semaphore.acquire(signal).then(() => given.push(name)));
  return { given, asking };
};

describe('a permit of a semaphore', () => {
  it('is given in the order of requests, and to the next one waiting when it is released', async () => {
    const semaphore = new Semaphore(2);
    const { given, asking } = asked(semaphore, ['a', 'b', 'c', 'd']);
    await Promise.all(asking.slice(0, 2));
    expect(given).toEqual(['a', 'b']);
    semaphore.release();
    await asking[2];
    expect(given).toEqual(['a', 'b', 'c']);
    semaphore.release();
    await asking[3];
    semaphore.release();
    semaphore.release();
    await Promise.all(asked(semaphore, ['e', 'f']).asking);
  });

  it('is given at once only if nobody waits, and as many are left as are to be spared', async () => {
    const semaphore = new Semaphore(2);
    expect([semaphore.tryAcquire(1), semaphore.tryAcquire(1), semaphore.tryAcquire(), semaphore.tryAcquire()]).toEqual([
      true,
      false,
      true,
      false,
    ]);
    const { asking } = asked(semaphore, ['a']);
    semaphore.release();
    expect(semaphore.tryAcquire()).toBe(false);
    await Promise.all(asking);
    semaphore.release();
    semaphore.release();
    expect(semaphore.isIdle).toBe(true);
  });

  it('is not waited for after the signal has aborted', async () => {
    const semaphore = new Semaphore(0);
    const stop = new AbortController();
    const { asking } = asked(semaphore, ['a'], stop.signal);
    stop.abort(new Error('stopped'));
    await expect(asking[0]).rejects.toThrow('stopped');
  });
});
