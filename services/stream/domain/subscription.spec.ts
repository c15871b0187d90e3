import { describe, expect, it } from '@jest/globals';
import { channel, changeAt, someSubscription } from '../testing/some-subscription.ts';
import { resumePointAfter } from '../../../shared/keys/stream-cursors.ts';

describe('a subscription', () => {
  it('has its id, channel and resume point', () => {
    const { subscription } = someSubscription();
    expect(subscription).toMatchObject({ id: 'sub_1', channel, resumePoint: resumePointAfter(3) });
    expect(subscription.signal.aborted).toBe(false);
  });

  it('is sent each new change once while it is live', () => {
    const { subscription, client } = someSubscription();
    subscription.goLive();
    for (const position of [2, 3, 4, 4, 6]) subscription.offer(changeAt(position));
    expect(client.sent).toEqual([4, 6]);
    expect(subscription.resumePoint).toEqual(resumePointAfter(6));
  });

  it('is not sent changes before its first block', () => {
    const { subscription, client } = someSubscription({ fromBlock: 100 });
    subscription.goLive();
    subscription.offer(changeAt(4, 99));
    subscription.offer(changeAt(5, 100));
    expect(client.sent).toEqual([5]);
  });

  it('is not sent new changes while it is not live: they count as missed', () => {
    const { subscription, client } = someSubscription();
    subscription.offer(changeAt(4));
    expect([client.sent, client.missed]).toEqual([[], [4]]);
    expect(subscription.resumePoint).toEqual(resumePointAfter(3));
  });

  it('falls behind once, at the change for which its client has no room', () => {
    const { subscription, client, behind } = someSubscription({ room: 1 });
    subscription.goLive();
    for (const position of [4, 6, 7]) subscription.offer(changeAt(position));
    expect([client.sent, client.missed, behind]).toEqual([[4], [6, 7], [5]]);
    expect(subscription.resumePoint).toEqual(resumePointAfter(5));
  });

  it('is sent nothing and misses nothing after its end', async () => {
    const { subscription, client } = someSubscription();
    subscription.goLive();
    subscription.end();
    subscription.offer(changeAt(4));
    expect(subscription.signal.aborted).toBe(true);
    await expect(subscription.sendPage({ deliveries: [changeAt(4)], end: resumePointAfter(4) })).rejects.toThrow();
    expect([client.sent, client.missed]).toEqual([[], []]);
    expect(subscription.resumePoint).toEqual(resumePointAfter(3));
  });

  it('catches up at the speed of its client', async () => {
    const { subscription, client } = someSubscription({ room: 2 });
    const deliveries = [4, 5, 6, 7, 8].map((position) => changeAt(position));
    await subscription.sendPage({ deliveries, end: resumePointAfter(9) });
    expect(client.sent).toEqual([4, 5, 6, 7, 8]);
    expect(client.waits).toEqual([2, 4]);
    expect(subscription.resumePoint).toEqual(resumePointAfter(9));
  });

  it('catches up without changes before its first block', async () => {
    const { subscription, client } = someSubscription({ fromBlock: 100 });
    await subscription.sendPage({ deliveries: [changeAt(4, 99), changeAt(5, 100)], end: resumePointAfter(5) });
    expect(client.sent).toEqual([5]);
  });
});
