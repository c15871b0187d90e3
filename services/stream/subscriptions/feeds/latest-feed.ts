import { topics } from '../../../../schemas/topics.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { EventStore, Position } from '../../../../shared/event-store/event-store.ts';
import type { GenuineMessages } from '../../../../shared/message-bus/genuine/genuine-messages.ts';
import type { MessageBus } from '../../../../shared/message-bus/message-bus.ts';
import type { Logger } from 'pino';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import type { StreamMetrics } from '../../edge/stream-metrics.ts';
import { channelKey, channelName, type Channel } from '../../domain/channel.ts';
import type { ChainMessage, MessageReader } from '../../domain/chain-message.ts';
import { resumePointAfter, type ResumePoint } from '../../../../shared/keys/stream-cursors.ts';
import type { Delivery, Page } from '../../domain/delivery.ts';
import type { Feed, ChannelHistory, HistoryPoint } from '../../domain/feed.ts';
import type { RecentMessages } from '../../domain/recent-messages.ts';
import type { Subscription } from '../../domain/subscription.ts';
import { LiveTail } from './live-tail.ts';
import { ChannelSubscriptions } from './channel-subscriptions.ts';

/** Maximum deliveries per page. */
const DELIVERIES_PER_PAGE = 64;

interface LatestFeedOptions {
  genuine: Pick<GenuineMessages, 'filter'>;
  messageBus: MessageBus;
  reader: MessageReader;
  history: ChannelHistory;
  metrics: Pick<StreamMetrics, 'deliveryTimes'>;
  clock: Clock;
  eventStore: Pick<EventStore, 'head'>;
  logger: Logger;
}

/**
 * Provides every change as soon as the relay has published it, recent changes from memory, and older ones from the
 * history.
 */
export class LatestFeed implements Feed {
  readonly tail: LiveTail;
  private readonly subscriptions = new ChannelSubscriptions();

  constructor(private readonly options: LatestFeedOptions) {
    const onMessage = (message: ChainMessage) => this.fanOut(message);
    this.tail = new LiveTail({ ...options, onMessage });
  }

  async now(channel: Channel): Promise<Position> {
    if (this.tail.isCaughtUp) await this.tail.follow(this.partitionOf(channel));
    return this.messages(channel).end;
  }

  join(subscription: Subscription): void {
    if (this.subscriptions.add(subscription)) this.tail.hold(this.partitionOf(subscription.channel));
  }

  leave(subscription: Subscription): void {
    if (this.subscriptions.remove(subscription)) this.tail.release(this.partitionOf(subscription.channel));
  }

  recent(channel: Channel, after: Position): Page | undefined {
    const messages = this.messages(channel);
    if (after < messages.completeAfter) return undefined;
    const key = channelKey(channel);
    const name = channelName(channel);
    const deliveries: Delivery[] = [];
    let position = after;
    for (const message of messages.after(after)) {
      position = message.position;
      if (message.key !== key) continue;
      const delivery = this.options.reader.delivery(message);
      if (delivery?.channel === name && deliveries.push(delivery) === DELIVERIES_PER_PAGE) break;
    }
    return { deliveries, end: resumePointAfter(position) };
  }

  replay(channel: Channel, after: Position, signal: AbortSignal): AsyncIterable<Page> {
    return this.options.history.replay(channel, after, signal);
  }

  currentRecords(channel: Channel, history: HistoryPoint): AsyncGenerator<Page, undefined> {
    return this.options.history.currentRecords(channel, history);
  }

  async gapAfter(channel: Channel, resumePoint: ResumePoint, signal: AbortSignal): Promise<Position | undefined> {
    const { oldest, newest } = this.messages(channel);
    if (oldest !== undefined && oldest <= resumePoint.position + 1) return undefined;
    return this.options.history.gapAfter(channel, resumePoint, newest, signal);
  }

  private partitionOf(channel: Channel): number {
    return this.options.messageBus.partitionOf(topics.chainEvents, channelKey(channel));
  }

  private messages(channel: Channel): RecentMessages {
    const messages = this.tail.recentMessages(this.partitionOf(channel));
    if (!messages) {
      throw new Refusal('dependency_unavailable', 'the node is still reading the published messages', {
        retryAfter: 1,
      });
    }
    return messages;
  }

  private fanOut(message: ChainMessage): number | undefined {
    if (!this.subscriptions.hasKey(message.key)) return undefined;
    const delivery = this.options.reader.delivery(message);
    if (!delivery) return 0;
    const { metrics, clock } = this.options;
    metrics.deliveryTimes.add(Math.max(0, clock.now() - message.storedAtMs) / 1_000);
    return this.subscriptions.offer(delivery);
  }
}
