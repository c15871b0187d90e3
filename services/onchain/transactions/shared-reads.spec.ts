import { expect, it } from '@jest/globals';
import { SharedReads } from './shared-reads.ts';

/** Reads that end when a spec says so; each returns its number. */
const heldReads = () => {
  const ends: PromiseWithResolvers<number>[] = [];
  const reads = new SharedReads<number>();
  const ask = (key = 'one') =>
    reads.read(key, () => {
      const end = Promise.withResolvers<number>();
      ends.push(end);
      return end.promise;
    });
  return { ends, ask };
};
const afterTick = () => new Promise((resolve) => setImmediate(resolve));

it('gives those who ask while it is read what is read after that, once for all of them', async () => {
  const { ends, ask } = heldReads();
  const first = ask();
  const later = [ask(), ask()];
  expect(ends).toHaveLength(1);
  ends[0]?.resolve(1);
  expect(await first).toBe(1);
  await afterTick();
  const last = ask();
  expect(ends).toHaveLength(2);
  ends[1]?.resolve(2);
  expect(await Promise.all(later)).toEqual([2, 2]);
  await afterTick();
  ends[2]?.resolve(3);
  expect(await last).toBe(3);
});

it('reads for those who waited also after a reading that failed, and something else at once', async () => {
  const { ends, ask } = heldReads();
  const first = ask();
  const later = ask();
  const other = ask('other');
  ends[0]?.reject(new Error('it does not answer'));
  await expect(first).rejects.toThrow('it does not answer');
  await afterTick();
  ends[1]?.resolve(1);
  ends[2]?.resolve(2);
  expect([await other, await later]).toEqual([1, 2]);
});

it('reads anew once nothing is read', async () => {
  const { ends, ask } = heldReads();
  for (const number of [0, 1]) {
    const asked = ask();
    ends[number]?.resolve(number);
    expect(await asked).toBe(number);
    await afterTick();
  }
});
