import { Inject, Injectable } from '@nestjs/common';
import type { Finality, Subscribe, Subscribed } from '../../../schemas/socket/stream-commands.ts';
import type { StreamMessages } from '../../../schemas/socket/stream-messages.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { refusalOf } from '../../../shared/nest/problem-document.ts';
import { CLOCK, IDS, LOGGER } from '../../../shared/nest/tokens.ts';
import type { Logger } from '../../../shared/observability/logger.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { Ids } from '../../../shared/primitives/ids.ts';
import { channelName, type Channel } from '../domain/channel.ts';
import { Cursors, placeOf, type Place } from '../domain/cursor.ts';
import type { Feed } from '../domain/feed.ts';
import { Subscription, type Outlet } from '../domain/subscription.ts';
import { catchUp } from '../resume/catch-up.ts';
import { STREAM_LIMITS, type StreamLimits } from '../stream-limits.ts';
import { FinalizedFeed } from './finalized-feed.ts';
import { FindChannel } from './find-channel.ts';
import { LatestFeed } from './latest-feed.ts';

const ID_CHARACTERS = 20;

/** Who subscribes: one connection. */
export interface Subscriber {
  readonly outlet: Outlet;
  /** By id. */
  readonly subscriptions: Map<string, Subscription>;
  readonly isConnected: boolean;
  tell: <Name extends keyof StreamMessages>(name: Name, message: StreamMessages[Name]) => void;
}

/** Where a subscription begins. */
interface Start {
  now: Position;
  place: Place;
  cursor: string | null;
  /** Set when something between the cursor and the place is lost. */
  lost: { requested: string; earliest: string } | undefined;
  isHistory: boolean;
  /** The subscriber waits to be told that it is live. */
  announced: boolean;
}

/** Opens and ends subscriptions. */
@Injectable()
export class Subscriptions {
  private readonly feeds: Record<Finality, Feed>;

  constructor(
    latest: LatestFeed,
    finalized: FinalizedFeed,
    private readonly channels: FindChannel,
    private readonly cursors: Cursors,
    @Inject(STREAM_LIMITS) private readonly limits: StreamLimits,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(IDS) private readonly ids: Ids,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.feeds = { latest, finalized };
  }

  /**
   * @param acknowledge called once, before anything else is sent for the subscription
   * @throws Refusal already_subscribed, cursor_invalid, rate_limited and what finding the channel throws
   */
  async open(subscriber: Subscriber, command: Subscribe, acknowledge: (answer: Subscribed) => void): Promise<void> {
    const channel = await this.channels.find(command);
    const feed = this.feeds[channel.finality];
    const start = await this.findStart(feed, channel, command);
    // From here on nothing is awaited: what was checked stays true until the subscription stands.
    if (!subscriber.isConnected) return;
    const others = [...subscriber.subscriptions.values()];
    const name = channelName(channel);
    if (others.some((other) => channelName(other.channel) === name)) {
      throw new Refusal('already_subscribed', 'a connection has one subscription per channel');
    }
    const { subscriptionsPerConnection: allowed } = this.limits;
    if (others.length >= allowed) {
      throw new Refusal('rate_limited', `${String(allowed)} subscriptions per connection are allowed`);
    }
    const subscription = new Subscription({
      id: `sub_${this.ids.token(ID_CHARACTERS)}`,
      channel,
      outlet: subscriber.outlet,
      place: start.place,
      fromBlock: command.fromBlock ?? 0,
      fellBehind: () => {
        this.logger.info({ subscription: subscription.id }, 'a subscription reads on at its own pace');
        void this.bring(subscriber, subscription, { isHistory: false, announced: false });
      },
    });
    const { id: subscriptionId } = subscription;
    subscriber.subscriptions.set(subscriptionId, subscription);
    const state = start.announced ? 'catching_up' : 'live';
    acknowledge({ ok: true, subscriptionId, channel: name, cursor: start.cursor, state });
    if (start.lost) subscriber.tell('gap', { subscriptionId, ...start.lost, resumeWith: start.lost.earliest });
    feed.join(subscription, start.now);
    void this.bring(subscriber, subscription, start);
  }

  /** @throws Refusal subscription_not_found */
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
    this.feeds[subscription.channel.finality].leave(subscription);
    subscriber.subscriptions.delete(subscription.id);
  }

  private async findStart(feed: Feed, channel: Channel, { cursor, fromBlock }: Subscribe): Promise<Start> {
    const name = channelName(channel);
    const now = await feed.now(channel);
    const mark: Place = { position: now, markedAtMs: this.clock.now() };
    const start = { now, place: mark, cursor: null, lost: undefined, isHistory: false, announced: true };
    if (cursor !== undefined) {
      const place = this.cursors.read(name, cursor);
      const kept = await feed.lostAfter(channel, place);
      if (kept === undefined) return { ...start, place, cursor };
      const earliest = this.cursors.write(name, placeOf(kept));
      return { ...start, place: placeOf(kept), cursor, lost: { requested: cursor, earliest } };
    }
    if (fromBlock !== undefined) return { ...start, isHistory: true };
    return { ...start, cursor: this.cursors.write(name, mark), announced: false };
  }

  /** Sends what came before now, then makes the subscription live; a failure of ours stops this subscription only. */
  private async bring(
    subscriber: Subscriber,
    subscription: Subscription,
    { isHistory, announced }: Pick<Start, 'isHistory' | 'announced'>,
  ): Promise<void> {
    const { id: subscriptionId, channel, fromBlock, signal } = subscription;
    const feed = this.feeds[channel.finality];
    try {
      if (isHistory) {
        for await (const { deliveries, end } of feed.history(channel, fromBlock)) {
          await subscription.deliver(deliveries, end);
        }
      }
      await catchUp(feed, subscription, () => {
        if (announced) subscriber.tell('live', { subscriptionId, cursor: this.cursorAt(subscription) });
      });
    } catch (error) {
      if (signal.aborted) return;
      this.logger.error({ err: error, subscriptionId }, 'a subscription could not be brought up to now');
      this.end(subscriber, subscription);
      subscriber.tell('stopped', { subscriptionId, code: refusalOf(error).code });
    }
  }

  private cursorAt({ channel, place }: Subscription): string {
    return this.cursors.write(channelName(channel), { ...place, markedAtMs: this.clock.now() });
  }
}
