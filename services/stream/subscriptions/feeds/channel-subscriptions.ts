import { channelKey, channelName, type Channel } from '../../domain/channel.ts';
import type { Delivery } from '../../domain/delivery.ts';
import type { Subscription } from '../../domain/subscription.ts';

/** The subscriptions of a feed, by channel. */
export class ChannelSubscriptions {
  private readonly byChannel = new Map<string, Set<Subscription>>();
  private readonly countByKey = new Map<string, number>();

  /** @returns whether it is new */
  add(subscription: Subscription): boolean {
    const name = channelName(subscription.channel);
    const subscriptions = this.byChannel.get(name) ?? new Set();
    if (subscriptions.has(subscription)) return false;
    this.byChannel.set(name, subscriptions.add(subscription));
    this.count(subscription, 1);
    return true;
  }

  /** @returns whether it was there */
  remove(subscription: Subscription): boolean {
    const name = channelName(subscription.channel);
    const subscriptions = this.byChannel.get(name);
    if (!subscriptions?.delete(subscription)) return false;
    if (subscriptions.size === 0) this.byChannel.delete(name);
    this.count(subscription, -1);
    return true;
  }

  has(channel: Channel): boolean {
    return this.byChannel.has(channelName(channel));
  }

  /** Whether any channel with this message key, i.e. of this contract, has a subscription. */
  hasKey(key: string): boolean {
    return this.countByKey.has(key);
  }

  /** @returns to how many subscriptions */
  offer(delivery: Delivery): number {
    const subscriptions = this.byChannel.get(delivery.channel);
    for (const subscription of subscriptions ?? []) subscription.offer(delivery);
    return subscriptions?.size ?? 0;
  }

  private count({ channel }: Subscription, change: 1 | -1): void {
    const key = channelKey(channel);
    const count = (this.countByKey.get(key) ?? 0) + change;
    if (count === 0) this.countByKey.delete(key);
    else this.countByKey.set(key, count);
  }
}
