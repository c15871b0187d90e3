import { channelKey, channelName, type Channel } from '../domain/channel.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { Subscription } from '../domain/subscription.ts';

/** Who listens to what. */
export class Members {
  private readonly channels = new Map<string, Set<Subscription>>();
  private readonly listenersByKey = new Map<string, number>();

  join(subscription: Subscription): void {
    const name = channelName(subscription.channel);
    const members = this.channels.get(name) ?? new Set();
    if (members.has(subscription)) return;
    this.channels.set(name, members.add(subscription));
    this.count(subscription, 1);
  }

  leave(subscription: Subscription): void {
    const name = channelName(subscription.channel);
    const members = this.channels.get(name);
    if (!members?.delete(subscription)) return;
    if (members.size === 0) this.channels.delete(name);
    this.count(subscription, -1);
  }

  has(channel: Channel): boolean {
    return this.channels.has(channelName(channel));
  }

  /** Whether anybody listens to any channel of a contract. */
  listenTo(key: string): boolean {
    return this.listenersByKey.has(key);
  }

  offer(delivery: Delivery): void {
    for (const subscription of this.channels.get(delivery.channel) ?? []) subscription.offer(delivery);
  }

  private count({ channel }: Subscription, change: 1 | -1): void {
    const key = channelKey(channel);
    const count = (this.listenersByKey.get(key) ?? 0) + change;
    if (count === 0) this.listenersByKey.delete(key);
    else this.listenersByKey.set(key, count);
  }
}
