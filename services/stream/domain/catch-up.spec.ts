import { describe, expect, it } from '@jest/globals';
import { channel, changeAt, someSubscription } from '../testing/some-subscription.ts';
import { catchUp } from './catch-up.ts';
import { placeOf } from './cursor.ts';

/** A feed of changes at these positions, of which those behind `floor` can be read without the store, two at a time. */
const feedOf = (positions: number[], floor: number) => {
  const after = (position: number) => positions.filter((one) => one > position).slice(0, 2);
  const pageAfter = (position: number) => {
    const next = after(position);
    return { deliveries: next.map((one) => changeAt(one)), end: placeOf(next.at(-1) ?? position) };
  };
  const reads: string[] = [];
  async function* older(of: unknown, position: number) {
    expect(of).toBe(channel);
    for (let at = position; after(at).length > 0; at = pageAfter(at).end.position) {
      reads.push(`older ${String(at)}`);
      yield await Promise.resolve(pageAfter(at));
    }
  }
  return {
    reads,
    recent: (_: unknown, position: number) => {
      if (position < floor) return undefined;
      reads.push(`recent ${String(position)}`);
      return pageAfter(position);
    },
    older: (of: unknown, position: number) => older(of, position),
  };
};

describe('catching up', () => {
  it('reads what is kept until the rest can be read without the store, then that, and is live', async () => {
    const { subscription, client } = someSubscription();
    const feed = feedOf([1, 4, 5, 6, 7, 8, 9, 10], 7);
    const calls: (number | undefined)[] = [];
    await catchUp(feed, subscription, () => calls.push(client.sent.at(-1)));
    expect(feed.reads).toEqual(['older 3', 'older 5', 'recent 7', 'recent 7', 'recent 9', 'recent 10']);
    expect(client.sent).toEqual([4, 5, 6, 7, 8, 9, 10]);
    expect(calls).toEqual([10]);
    subscription.offer(changeAt(11));
    expect(client.sent.at(-1)).toBe(11);
  });

  it('of nothing ends where the feed is', async () => {
    const { subscription } = someSubscription();
    const recent = () => ({ deliveries: [], end: placeOf(8) });
    await catchUp({ recent, older: feedOf([], 0).older }, subscription, () => undefined);
    expect(subscription.place).toEqual(placeOf(8));
  });

  it('leaves no moment between "nothing is left" and live', async () => {
    const { subscription, client } = someSubscription();
    const recent = () => {
      queueMicrotask(() => {
        subscription.offer(changeAt(4));
      });
      return { deliveries: [], end: placeOf(3) };
    };
    await catchUp({ recent, older: feedOf([], 0).older }, subscription, () => undefined);
    expect(client.sent).toEqual([4]);
  });

  it('ends with the subscription', async () => {
    const { subscription } = someSubscription();
    subscription.end();
    await expect(catchUp(feedOf([], 7), subscription, () => undefined)).rejects.toThrow('aborted');
  });

  it('fails when what is kept ends too early', async () => {
    const { subscription } = someSubscription();
    await expect(catchUp(feedOf([4, 5], 7), subscription, () => undefined)).rejects.toThrow('what is kept ends');
  });
});
