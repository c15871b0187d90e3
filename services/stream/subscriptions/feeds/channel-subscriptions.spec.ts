import { expect, it } from '@jest/globals';
import { channelKey, channelName } from '../../domain/channel.ts';
import { changeAt, channel, someSubscription } from '../../testing/some-subscription.ts';
import { ChannelSubscriptions } from './channel-subscriptions.ts';

const key = channelKey(channel);
const finalized = { ...channel, finality: 'finalized' } as const;

const live = () => {
  const { subscription, client } = someSubscription();
  subscription.goLive();
  return { subscription, sent: client.sent };
};

it('a delivery is offered to each subscription of its channel, once, and to no other channel', () => {
  const subscriptions = new ChannelSubscriptions();
  const [one, another] = [live(), live()];
  for (const { subscription } of [one, another, one]) subscriptions.add(subscription);
  subscriptions.offer(changeAt(4));
  subscriptions.offer({ ...changeAt(5), channel: channelName(finalized) });
  expect([one.sent, another.sent]).toEqual([[4], [4]]);
});

it('a subscription that was removed is offered nothing more', () => {
  const subscriptions = new ChannelSubscriptions();
  const [one, another] = [live(), live()];
  for (const { subscription } of [one, another]) subscriptions.add(subscription);
  subscriptions.remove(one.subscription);
  subscriptions.offer(changeAt(4));
  expect([one.sent, another.sent]).toEqual([[], [4]]);
});

it('a channel and its contract have subscriptions until the last one is removed, however often one is added or removed', () => {
  const subscriptions = new ChannelSubscriptions();
  const [one, another] = [live().subscription, live().subscription];
  const known = () => [subscriptions.has(channel), subscriptions.hasKey(key)];
  expect(known()).toEqual([false, false]);
  for (const subscription of [one, one, another]) subscriptions.add(subscription);
  subscriptions.remove(one);
  subscriptions.remove(one);
  expect(known()).toEqual([true, true]);
  subscriptions.remove(another);
  expect(known()).toEqual([false, false]);
  subscriptions.add(one);
  expect(known()).toEqual([true, true]);
  expect([subscriptions.has(finalized), subscriptions.hasKey('eip155:2/0x')]).toEqual([false, false]);
});
