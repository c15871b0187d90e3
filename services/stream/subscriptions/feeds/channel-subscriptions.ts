import { channelKey, channelName, type Channel } from '../domain/channel.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { Subscription } from '../domain/subscription.ts';

/** The subscriptions of a feed, by channel. */
export class ChannelSubscriptions {
  private readonly byChannel = new Map<string, Set<Subscription>>();
  private readonly countByKey = new Map<string, number>();

  add(subscription: Subscription): void {
    const name = channelName(subscription.channel);
    const subscriptions = this.byChannel.get(name) ?? new Set();
    if (subscriptions.has(subscription)) return;
    this.byChannel.set(name, subscriptions.add(subscription));
    this.count(subscription, 1);
  }

  remove(subscription: Subscription): void {
    const name = channelName(subscription.channel);
    const subscriptions = this.byChannel.get(name);
    if (!subscriptions?.delete(subscription)) return;
    if (subscriptions.size === 0) this.byChannel.delete(name);
    this.count(subscription, -1);
  }

  has(channel: Channel): boolean {
    return this.byChannel.has(channelName(channel));
  }

  /** Whether any channel with this message key, i.e. of this contract, has a subscription. */
  hasKey(key: string): boolean {
    return this.countByKey.has(key);
  }

  offer(delivery: Delivery): void {
    for (const subscription of this.byChannel.get(delivery.channel) ?? []) subscription.offer(delivery);
  }

  private count({ channel }: Subscription, change: 1 | -1): void {
    const key = channelKey(channel);
    const count = (this.countByKey.get(key) ?? 0) + change;
    if (count === 0) this.countByKey.delete(key);
    else this.countByKey.set(key, count);
  }
}
