import { describe, expect, it } from '@jest/globals';
import { channel, changeAt, someSubscription } from '../testing/some-subscription.ts';
import { placeOf } from './cursor.ts';

describe('a subscription', () => {
  it('knows its channel, its place and where it begins', () => {
    const { subscription } = someSubscription({ fromBlock: 7 });
    expect(subscription).toMatchObject({ id: 'sub_1', channel, fromBlock: 7, place: placeOf(3) });
    expect(subscription.signal.aborted).toBe(false);
  });

  it('that is live is sent each new change once', () => {
    const { subscription, client } = someSubscription();
    subscription.goLive();
    for (const position of [2, 3, 4, 4, 6]) subscription.offer(changeAt(position));
    expect(client.sent).toEqual([4, 6]);
    expect(subscription.place).toEqual(placeOf(6));
  });

  it('is not sent what lies before its first block', () => {
    const { subscription, client } = someSubscription({ fromBlock: 100 });
    subscription.goLive();
    subscription.offer(changeAt(4, 99));
    subscription.offer(changeAt(5, 100));
    expect(client.sent).toEqual([5]);
  });

  it('that is not live is not sent what happens, which counts as missed', () => {
    const { subscription, client } = someSubscription();
    subscription.offer(changeAt(4));
    expect([client.sent, client.unsent]).toEqual([[], [4]]);
    expect(subscription.place).toEqual(placeOf(3));
  });

  it('falls behind where its client has no room, once, and goes on from there', () => {
    const { subscription, client, behind } = someSubscription({ room: 1 });
    subscription.goLive();
    for (const position of [4, 6, 7]) subscription.offer(changeAt(position));
    expect([client.sent, client.unsent, behind]).toEqual([[4], [6, 7], [5]]);
    expect(subscription.place).toEqual(placeOf(5));
  });

  it('that has ended is sent nothing, and misses nothing', async () => {
    const { subscription, client } = someSubscription();
    subscription.goLive();
    subscription.end();
    subscription.offer(changeAt(4));
    expect(subscription.signal.aborted).toBe(true);
    await expect(subscription.deliver({ deliveries: [changeAt(4)], end: placeOf(4) })).rejects.toThrow();
    expect([client.sent, client.unsent]).toEqual([[], []]);
    expect(subscription.place).toEqual(placeOf(3));
  });

  it('catches up at the speed of its client', async () => {
    const { subscription, client } = someSubscription({ room: 2 });
    const deliveries = [4, 5, 6, 7, 8].map((position) => changeAt(position));
    await subscription.deliver({ deliveries, end: placeOf(9) });
    expect(client.sent).toEqual([4, 5, 6, 7, 8]);
    expect(client.waits).toEqual([2, 4]);
    expect(subscription.place).toEqual(placeOf(9));
  });

  it('catches up without what lies before its first block', async () => {
    const { subscription, client } = someSubscription({ fromBlock: 100 });
    await subscription.deliver({ deliveries: [changeAt(4, 99), changeAt(5, 100)], end: placeOf(5) });
    expect(client.sent).toEqual([5]);
  });
});
