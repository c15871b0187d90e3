import { topics } from '../../../schemas/topics.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { GenuineMessages } from '../../../shared/message-bus/genuine/genuine-messages.ts';
import type { MessageBus } from '../../../shared/message-bus/message-bus.ts';
import type { Logger } from 'pino';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { channelKey, channelName, type Channel } from '../domain/channel.ts';
import type { ChainMessage, MessageReader } from '../domain/chain-message.ts';
import { resumePointAfter, type ResumePoint } from '../domain/cursor.ts';
import type { Delivery, Page } from '../domain/delivery.ts';
import type { Feed, ChannelHistory } from '../domain/feed.ts';
import type { RecentMessages } from '../domain/recent-messages.ts';
import type { Subscription } from '../domain/subscription.ts';
import { LiveTail } from './live-tail.ts';
import { ChannelSubscriptions } from './channel-subscriptions.ts';

/** How many deliveries a page may have. */
const DELIVERIES_PER_PAGE = 64;

interface LatestFeedOptions {
  genuine: Pick<GenuineMessages, 'of'>;
  messageBus: MessageBus;
  reader: MessageReader;
  history: ChannelHistory;
  clock: Clock;
  logger: Logger;
}

/** Gives every change when the relay has published it, recent changes from memory, and older ones from the history. */
export class LatestFeed implements Feed {
  readonly tail: LiveTail;
  private readonly subscriptions = new ChannelSubscriptions();

  constructor(private readonly options: LatestFeedOptions) {
    const { messageBus, genuine, reader, clock, logger } = options;
    const onMessage = (message: ChainMessage) => this.fanOut(message);
    this.tail = new LiveTail({ messageBus, genuine, reader, clock, onMessage, logger });
  }

  now(channel: Channel): Promise<Position> {
    return Promise.resolve(this.messages(channel).newest);
  }

  join(subscription: Subscription): void {
    this.subscriptions.add(subscription);
  }

  leave(subscription: Subscription): void {
    this.subscriptions.remove(subscription);
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

  currentRecords(channel: Channel, fromBlock: number): AsyncIterable<Page> {
    return this.options.history.currentRecords(channel, fromBlock);
  }

  async gapAfter(channel: Channel, resumePoint: ResumePoint, signal: AbortSignal): Promise<Position | undefined> {
    const { oldest, newest } = this.messages(channel);
    if (oldest !== undefined && oldest <= resumePoint.position + 1) return undefined;
    return this.options.history.gapAfter(channel, resumePoint, newest, signal);
  }

  private messages(channel: Channel): RecentMessages {
    const partition = this.options.messageBus.partitionOf(topics.chainEvents, channelKey(channel));
    const messages = this.tail.recentMessages(partition);
    if (!messages || !this.tail.isCaughtUp) {
      throw new Refusal('dependency_unavailable', 'the node is still reading the published messages', {
        retryAfter: 1,
      });
    }
    return messages;
  }

  private fanOut(message: ChainMessage): boolean {
    if (!this.subscriptions.hasKey(message.key)) return false;
    const delivery = this.options.reader.delivery(message);
    if (delivery) this.subscriptions.offer(delivery);
    return true;
  }
}
