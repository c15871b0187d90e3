import { topics } from '../../../schemas/topics.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { MessageBus } from '../../../shared/message-bus/message-bus.ts';
import type { Logger } from 'pino';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { channelKey, channelName, type Channel } from '../domain/channel.ts';
import type { ChainMessage, MessageReader } from '../domain/chain-message.ts';
import { placeOf, type Place } from '../domain/cursor.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { Feed, Past } from '../domain/feed.ts';
import type { Page } from '../domain/delivery.ts';
import type { RecentMessages } from '../domain/recent-messages.ts';
import type { Subscription } from '../domain/subscription.ts';
import { LiveTail } from './live-tail.ts';
import { Members } from './members.ts';

/** Sent before anybody looks again whether it was read. */
const PAGE_MAX = 128;

interface LatestFeedOptions {
  messageBus: MessageBus;
  reader: MessageReader;
  past: Past;
  clock: Clock;
  logger: Logger;
}

/** Every change as the relay publishes it, and those before it as far as they are remembered here. */
export class LatestFeed implements Feed {
  readonly tail: LiveTail;
  private readonly members = new Members();

  constructor(private readonly options: LatestFeedOptions) {
    const { messageBus, reader, clock, logger } = options;
    const onMessage = (message: ChainMessage) => this.fanOut(message);
    this.tail = new LiveTail({ messageBus, reader, clock, onMessage, logger });
  }

  now(channel: Channel): Promise<Position> {
    return Promise.resolve(this.messages(channel).newest);
  }

  join(subscription: Subscription): void {
    this.members.join(subscription);
  }

  leave(subscription: Subscription): void {
    this.members.leave(subscription);
  }

  recent(channel: Channel, after: Position): Page | undefined {
    const messages = this.messages(channel);
    if (after < messages.floor) return undefined;
    const key = channelKey(channel);
    const name = channelName(channel);
    const deliveries: Delivery[] = [];
    let position = after;
    for (const message of messages.after(after)) {
      position = message.position;
      if (message.key !== key) continue;
      const delivery = this.options.reader.delivery(message);
      if (delivery?.channel === name && deliveries.push(delivery) === PAGE_MAX) break;
    }
    return { deliveries, end: placeOf(position) };
  }

  older(channel: Channel, after: Position, signal: AbortSignal): AsyncIterable<Page> {
    return this.options.past.older(channel, after, signal);
  }

  history(channel: Channel, fromBlock: number): AsyncIterable<Page> {
    return this.options.past.history(channel, fromBlock);
  }

  async lostAfter(channel: Channel, place: Place, signal: AbortSignal): Promise<Position | undefined> {
    const { oldest, newest } = this.messages(channel);
    if (oldest !== undefined && oldest <= place.position + 1) return undefined;
    return this.options.past.lostAfter(channel, place, newest, signal);
  }

  private messages(channel: Channel): RecentMessages {
    const partition = this.options.messageBus.partitionOf(topics.chainEvents, channelKey(channel));
    const messages = this.tail.ofPartition(partition);
    if (!messages || !this.tail.isCaughtUp) {
      throw new Refusal('dependency_unavailable', 'the node is still reading what was published', { retryAfter: 1 });
    }
    return messages;
  }

  private fanOut(message: ChainMessage): boolean {
    if (!this.members.listenTo(message.key)) return false;
    const delivery = this.options.reader.delivery(message);
    if (delivery) this.members.offer(delivery);
    return true;
  }
}
