import { topics } from '../../../schemas/topics.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { MessageBus } from '../../../shared/message-bus/message-bus.ts';
import type { Logger } from '../../../shared/observability/logger.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { channelKey, channelName, type Channel } from '../domain/channel.ts';
import { MessageReader, type ChainMessage } from '../domain/chain-message.ts';
import { placeOf, type Cursors, type Place } from '../domain/cursor.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { Feed, Passage } from '../domain/feed.ts';
import type { RecentMessages } from '../domain/recent-messages.ts';
import type { Subscription } from '../domain/subscription.ts';
import { standingFrom } from '../resume/block-history.ts';
import { BusReplay } from '../resume/bus-replay.ts';
import { LiveTail } from './live-tail.ts';
import { Members } from './members.ts';

/** Sent before anybody looks again whether it was read. */
const PASSAGE_MAX = 128;

export interface LatestFeedOptions {
  messageBus: MessageBus;
  readStore: ReadStore;
  cursors: Cursors;
  clock: Clock;
  logger: Logger;
}

/** Every change as the relay publishes it: from memory, before that from the topic, before that from the read model. */
export class LatestFeed implements Feed {
  readonly tail: LiveTail;
  private readonly members = new Members();
  private readonly reader: MessageReader;
  private readonly replay: BusReplay;

  constructor(private readonly options: LatestFeedOptions) {
    const { messageBus, cursors, clock, logger } = options;
    this.reader = new MessageReader(cursors, (err, key) => {
      logger.error({ err, key }, 'a message of the topic cannot be read and is passed over');
    });
    this.replay = new BusReplay({ messageBus, reader: this.reader, clock });
    const onMessage = (message: ChainMessage) => this.fanOut(message);
    this.tail = new LiveTail({ messageBus, reader: this.reader, clock, logger, onMessage });
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

  recent(channel: Channel, after: Position): Passage | undefined {
    const messages = this.messages(channel);
    if (after < messages.floor) return undefined;
    const key = channelKey(channel);
    const name = channelName(channel);
    const deliveries: Delivery[] = [];
    let position = after;
    for (const message of messages.after(after)) {
      position = message.position;
      if (message.key !== key) continue;
      const delivery = this.reader.delivery(message);
      if (delivery?.channel === name && deliveries.push(delivery) === PASSAGE_MAX) break;
    }
    return { deliveries, end: placeOf(position) };
  }

  older(channel: Channel, after: Position, signal: AbortSignal): AsyncIterable<Passage> {
    return this.replay.changesAfter(channel, after, signal);
  }

  history(channel: Channel, fromBlock: number): AsyncIterable<Passage> {
    return standingFrom(this.options, channel, fromBlock);
  }

  async lostAfter(channel: Channel, place: Place): Promise<Position | undefined> {
    const { oldest, newest } = this.messages(channel);
    if (oldest !== undefined && oldest <= place.position + 1) return undefined;
    return this.replay.lostAfter(channel, place, newest);
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
    const delivery = this.reader.delivery(message);
    if (delivery) this.members.offer(delivery);
    return true;
  }
}
