import type { Page } from './delivery.ts';
import type { Feed } from './feed.ts';
import type { Subscription } from './subscription.ts';

type CatchUpFeed = Pick<Feed, 'recent' | 'replay'>;

interface CatchUpOptions {
  /** Runs a replay, once there is room for it. */
  runReplay: (replay: () => Promise<void>) => Promise<void>;
  /** Called with each page of a replay before it is sent. */
  onReplayed: (page: Page) => void;
  /** Called in the tick in which nothing is left to send, before any live change is sent. */
  onCaughtUp: () => void;
}

/**
 * Sends a subscription the changes after its resume point. Makes it live in the same tick in which nothing is left to
 * send, so that no change is missed in between. Changes published meanwhile are not queued, but read from the feed.
 * @throws when the subscription ends, or the feed fails
 */
export const catchUp = async (
  feed: CatchUpFeed,
  subscription: Subscription,
  { runReplay, onReplayed, onCaughtUp }: CatchUpOptions,
): Promise<void> => {
  const { channel } = subscription;
  for (;;) {
    const page = feed.recent(channel, subscription.resumePoint.position);
    if (!page) {
      await runReplay(() => catchUpByReplay(feed, subscription, onReplayed));
    } else if (page.deliveries.length === 0) {
      subscription.moveTo(page.end);
      onCaughtUp();
      subscription.goLive();
      return;
    } else {
      await subscription.sendPage(page);
    }
  }
};

/** Replays older changes until the rest is in memory. */
const catchUpByReplay = async (
  feed: CatchUpFeed,
  subscription: Subscription,
  onReplayed: CatchUpOptions['onReplayed'],
): Promise<void> => {
  const { channel, resumePoint, signal } = subscription;
  for await (const page of feed.replay(channel, resumePoint.position, signal)) {
    onReplayed(page);
    await subscription.sendPage(page);
    if (feed.recent(channel, page.end.position)) return;
  }
  signal.throwIfAborted();
  throw new Error('the replay ended before the messages in memory begin');
};
