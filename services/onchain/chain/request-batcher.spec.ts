import { expect, it } from '@jest/globals';
import { RequestBatcher } from './request-batcher.ts';

/** Requests that are answered, or fail, when a spec says so. */
const heldRequests = (askedMax: number) => {
  const held: { asked: readonly number[]; answer: () => void; fail: () => void }[] = [];
  const gathered = new RequestBatcher<number, number>((asked) => {
    const { promise, resolve, reject } = Promise.withResolvers<number[]>();
    held.push({
      asked,
      answer: () => resolve(asked.map((one) => one * 10)),
      fail: () => reject(new Error('it does not answer')),
    });
    return promise;
  }, askedMax);
  return { held, gathered, asked: () => held.map((one) => one.asked) };
};
const afterTick = () => new Promise((resolve) => setImmediate(resolve));

it('asks together for what is asked for at once, and gives everybody their own answers', async () => {
  const { held, gathered, asked } = heldRequests(10);
  const answers = [gathered.ask([1, 2]), gathered.ask([]), gathered.ask([3])];
  await afterTick();
  expect(asked()).toEqual([[1, 2, 3]]);
  held[0]?.answer();
  expect(await Promise.all(answers)).toEqual([[10, 20], [], [30]]);
});

it('gathers what is asked for while four requests are under way, and asks again also after one that failed', async () => {
  const { held, gathered, asked } = heldRequests(10);
  const first = [];
  for (const one of [1, 2, 3, 4]) {
    first.push(gathered.ask([one]));
    await afterTick();
  }
  const later = [gathered.ask([5])];
  await afterTick();
  later.push(gathered.ask([6]));
  await afterTick();
  expect(asked()).toEqual([[1], [2], [3], [4]]);
  held[1]?.fail();
  await expect(first[1]).rejects.toThrow('it does not answer');
  expect(asked()[4]).toEqual([5, 6]);
  for (const { answer } of held) answer();
  expect(await Promise.all(later)).toEqual([[50], [60]]);
});

it('makes no request larger than it may be, unless somebody asks for more alone', async () => {
  const { gathered, asked } = heldRequests(3);
  for (const one of [[1, 2], [3, 4], [5], [6, 7, 8, 9]]) void gathered.ask(one);
  await afterTick();
  expect(asked()).toEqual([
    [1, 2],
    [3, 4, 5],
    [6, 7, 8, 9],
  ]);
});
