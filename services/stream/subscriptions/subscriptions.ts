import type { Finality, Subscribe, Subscribed } from '../../../schemas/socket/stream-commands.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { refusalOf } from '../../../shared/edge/problem-document.ts';
import type { Logger } from 'pino';
import { limitedAtATime } from '../../../shared/edge/rate-limits.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { Ids } from '../../../shared/primitives/ids.ts';
import { catchUp } from '../domain/catch-up.ts';
import { channelName, type Channel } from '../domain/channel.ts';
import { placeOf, type Cursors, type Place } from '../domain/cursor.ts';
import type { Feed } from '../domain/feed.ts';
import type { Subscriber, SubscriptionCommands } from '../domain/subscriber.ts';
import { Subscription } from '../domain/subscription.ts';
import type { FindChannel } from './find-channel.ts';

const ID_CHARACTERS = 20;

interface SubscriptionsOptions {
  feeds: Record<Finality, Feed>;
  channels: FindChannel;
  cursors: Cursors;
  perConnectionMax: number;
  clock: Clock;
  ids: Ids;
  logger: Logger;
}

/** Where a subscription begins. */
interface Start {
  /** As the feed said it. */
  now: Position;
  place: Place;
  /** Of the place; `null` before history. */
  cursor: string | null;
  /** Set when something between the cursor that was given and the place is lost. */
  lost: { requested: string; earliest: string } | undefined;
  isHistory: boolean;
  /** The subscriber is told when it is live. */
  isAnnounced: boolean;
}

/** Opens and ends subscriptions. */
export class Subscriptions implements SubscriptionCommands {
  constructor(private readonly options: SubscriptionsOptions) {}

  async open(subscriber: Subscriber, command: Subscribe, acknowledge: (answer: Subscribed) => void): Promise<void> {
    const channel = await this.options.channels.find(command);
    const feed = this.options.feeds[channel.finality];
    const start = await this.findStart(feed, channel, command, subscriber.signal).catch((error: unknown) => {
      if (subscriber.signal.aborted) return undefined;
      throw error;
    });
    // From here on nothing is awaited: what is checked stays true until the subscription stands.
    if (!start || subscriber.signal.aborted) return;
    this.refuseUnlessRoom(subscriber, channel);
    const { place, cursor, lost, isAnnounced } = start;
    const subscription = new Subscription({
      id: `sub_${this.options.ids.token(ID_CHARACTERS)}`,
      channel,
      buffer: subscriber.buffer,
      place,
      fromBlock: command.fromBlock ?? 0,
      fellBehind: () => {
        void this.bring(subscriber, subscription, { isHistory: false, isAnnounced: false });
      },
    });
    const { id: subscriptionId } = subscription;
    subscriber.subscriptions.set(subscriptionId, subscription);
    const state = isAnnounced ? 'catching_up' : 'live';
    acknowledge({ ok: true, subscriptionId, channel: channelName(channel), cursor, state });
    if (lost) subscriber.tell('gap', { subscriptionId, ...lost, resumeWith: lost.earliest });
    feed.join(subscription, start.now);
    void this.bring(subscriber, subscription, start);
  }

  close(subscriber: Subscriber, subscriptionId: string): void {
    const subscription = subscriber.subscriptions.get(subscriptionId);
    if (!subscription) throw new Refusal('subscription_not_found', 'this connection has no such subscription');
    this.end(subscriber, subscription);
  }

  closeAll(subscriber: Subscriber): void {
    for (const subscription of subscriber.subscriptions.values()) this.end(subscriber, subscription);
  }

  private end(subscriber: Subscriber, subscription: Subscription): void {
    subscription.end();
    this.options.feeds[subscription.channel.finality].leave(subscription);
    subscriber.subscriptions.delete(subscription.id);
  }

  private refuseUnlessRoom({ subscriptions }: Subscriber, channel: Channel): void {
    const name = channelName(channel);
    const { perConnectionMax } = this.options;
    for (const other of subscriptions.values()) {
      if (channelName(other.channel) !== name) continue;
      throw new Refusal('already_subscribed', 'a connection has one subscription per channel');
    }
    if (subscriptions.size >= perConnectionMax) {
      throw limitedAtATime(`${String(perConnectionMax)} subscriptions of a connection`);
    }
  }

  private async findStart(
    feed: Feed,
    channel: Channel,
    { cursor, fromBlock }: Subscribe,
    signal: AbortSignal,
  ): Promise<Start> {
    const { cursors, clock } = this.options;
    const name = channelName(channel);
    const now = await feed.now(channel);
    const mark: Place = { position: now, markedAtMs: clock.now() };
    const start = { now, place: mark, cursor: null, lost: undefined, isHistory: false, isAnnounced: true };
    if (cursor !== undefined) {
      const place = cursors.read(name, cursor);
      const kept = await feed.lostAfter(channel, place, signal);
      if (kept === undefined) return { ...start, place, cursor };
      const earliest = cursors.write(name, placeOf(kept));
      return { ...start, place: placeOf(kept), cursor, lost: { requested: cursor, earliest } };
    }
    if (fromBlock !== undefined) return { ...start, isHistory: true };
    return { ...start, cursor: cursors.write(name, mark), isAnnounced: false };
  }

  /** Sends what came before now, then makes the subscription live; a failure of ours stops this subscription only. */
  private async bring(
    subscriber: Subscriber,
    subscription: Subscription,
    { isHistory, isAnnounced }: Pick<Start, 'isHistory' | 'isAnnounced'>,
  ): Promise<void> {
    const { id: subscriptionId, channel, fromBlock, signal } = subscription;
    const { feeds, cursors, clock, logger } = this.options;
    const feed = feeds[channel.finality];
    try {
      if (isHistory) {
        for await (const page of feed.history(channel, fromBlock)) await subscription.deliver(page);
      }
      await catchUp(feed, subscription, () => {
        if (!isAnnounced) return;
        const place = { ...subscription.place, markedAtMs: clock.now() };
        subscriber.tell('live', { subscriptionId, cursor: cursors.write(channelName(channel), place) });
      });
    } catch (error) {
      if (signal.aborted) return;
      logger.error({ err: error, subscriptionId }, 'a subscription could not be brought up to now');
      this.end(subscriber, subscription);
      subscriber.tell('stopped', { subscriptionId, code: refusalOf(error).code });
    }
  }
}
