import type { Feed } from './feed.ts';
import type { Subscription } from './subscription.ts';

type Source = Pick<Feed, 'recent' | 'older'>;

/**
 * Brings a subscription from its place to now, and makes it live in the same turn in which nothing is left to send, so
 * that no change can come in between. Whatever happens meanwhile is read from the feed, nothing is put aside.
 * @param arrived called in that turn, before any live change
 * @throws when the subscription ends, or the feed fails
 */
export const catchUp = async (feed: Source, subscription: Subscription, arrived: () => void): Promise<void> => {
  const { channel } = subscription;
  for (;;) {
    const page = feed.recent(channel, subscription.place.position);
    if (!page) {
      await catchUpFromStore(feed, subscription);
    } else if (page.deliveries.length === 0) {
      subscription.moveTo(page.end);
      arrived();
      subscription.goLive();
      return;
    } else {
      await subscription.deliver(page);
    }
  }
};

/** Until the rest is at hand. */
const catchUpFromStore = async (feed: Source, subscription: Subscription): Promise<void> => {
  const { channel, place, signal } = subscription;
  for await (const page of feed.older(channel, place.position, signal)) {
    await subscription.deliver(page);
    if (feed.recent(channel, page.end.position)) return;
  }
  signal.throwIfAborted();
  throw new Error('what is kept ends before what is at hand begins');
};
