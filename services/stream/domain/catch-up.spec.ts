import { describe, expect, it } from '@jest/globals';
import { channel, changeAt, someSubscription } from '../testing/some-subscription.ts';
import { catchUp } from './catch-up.ts';
import { resumePointAfter } from '../../../shared/keys/stream-cursors.ts';

/** A feed of changes at these positions, two a page; those after `completeAfter` are in memory. */
const feedOf = (positions: number[], completeAfter: number) => {
  const after = (position: number) => positions.filter((one) => one > position).slice(0, 2);
  const pageAfter = (position: number) => {
    const next = after(position);
    return { deliveries: next.map((one) => changeAt(one)), end: resumePointAfter(next.at(-1) ?? position) };
  };
  const reads: string[] = [];
  async function* replay(of: unknown, position: number) {
    expect(of).toBe(channel);
    for (let at = position; after(at).length > 0; at = pageAfter(at).end.position) {
      reads.push(`replay ${String(at)}`);
      yield await Promise.resolve(pageAfter(at));
    }
  }
  return {
    reads,
    recent: (_: unknown, position: number) => {
      if (position < completeAfter) return undefined;
      reads.push(`recent ${String(position)}`);
      return pageAfter(position);
    },
    replay: (of: unknown, position: number) => replay(of, position),
  };
};

const options = (onCaughtUp: () => void = () => undefined) => ({
  runReplay: (replay: () => Promise<void>) => replay(),
  onReplayed: () => undefined,
  onCaughtUp,
});

describe('catching up', () => {
  it('replays older changes until the rest is in memory, sends that, and is live', async () => {
    const { subscription, client } = someSubscription();
    const feed = feedOf([1, 4, 5, 6, 7, 8, 9, 10], 7);
    const calls: (number | undefined)[] = [];
    await catchUp(
      feed,
      subscription,
      options(() => calls.push(client.sent.at(-1))),
    );
    expect(feed.reads).toEqual(['replay 3', 'replay 5', 'recent 7', 'recent 7', 'recent 9', 'recent 10']);
    expect(client.sent).toEqual([4, 5, 6, 7, 8, 9, 10]);
    expect(calls).toEqual([10]);
    subscription.offer(changeAt(11));
    expect(client.sent.at(-1)).toBe(11);
  });

  it('moves to the end of the feed when there is nothing to send', async () => {
    const { subscription } = someSubscription();
    const recent = () => ({ deliveries: [], end: resumePointAfter(8) });
    await catchUp({ recent, replay: feedOf([], 0).replay }, subscription, options());
    expect(subscription.resumePoint).toEqual(resumePointAfter(8));
  });

  it('is live in the same tick in which nothing is left to send', async () => {
    const { subscription, client } = someSubscription();
    const recent = () => {
      queueMicrotask(() => {
        subscription.offer(changeAt(4));
      });
      return { deliveries: [], end: resumePointAfter(3) };
    };
    await catchUp({ recent, replay: feedOf([], 0).replay }, subscription, options());
    expect(client.sent).toEqual([4]);
  });

  it('ends with the subscription', async () => {
    const { subscription } = someSubscription();
    subscription.end();
    await expect(catchUp(feedOf([], 7), subscription, options())).rejects.toThrow('aborted');
  });

  it('fails when the replay ends before the messages in memory begin', async () => {
    const { subscription } = someSubscription();
    await expect(catchUp(feedOf([4, 5], 7), subscription, options())).rejects.toThrow('the replay ended before');
  });
});
