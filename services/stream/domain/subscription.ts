import type { Channel } from './channel.ts';
import { placeOf, type Place } from './cursor.ts';
import type { Delivery } from './delivery.ts';
import type { Page } from './delivery.ts';

/** The way to one client, shared by its subscriptions. */
export interface SendBuffer {
  /** Whether another change may be sent before what was sent has left. */
  readonly hasRoom: boolean;
  send: (delivery: Delivery) => void;
  /** Returns when everything sent has left. @throws when the signal aborts */
  drained: (signal: AbortSignal) => Promise<void>;
  /** Counts what the client would have been sent, had it read. */
  missed: (delivery: Delivery) => void;
}

interface SubscriptionOptions {
  id: string;
  channel: Channel;
  buffer: SendBuffer;
  place: Place;
  /** First block that the client wants. */
  fromBlock: number;
  /** Called when a live subscription could not be sent a change: it must catch up. */
  fellBehind: (subscription: Subscription) => void;
}

/**
 * One client's way through one channel. Invariant: everything up to `place` has been sent or was not wanted; a live
 * subscription is sent what it is offered, another one what its catching up reads.
 */
export class Subscription {
  readonly id: string;
  readonly channel: Channel;
  readonly fromBlock: number;
  private readonly buffer: SendBuffer;
  private readonly fellBehind: (subscription: Subscription) => void;
  private readonly ending = new AbortController();
  private isLive = false;
  private reached: Place;

  constructor({ id, channel, buffer, place, fromBlock, fellBehind }: SubscriptionOptions) {
    this.id = id;
    this.channel = channel;
    this.buffer = buffer;
    this.reached = place;
    this.fromBlock = fromBlock;
    this.fellBehind = fellBehind;
  }

  get place(): Place {
    return this.reached;
  }

  /** Aborts when the subscription ends. */
  get signal(): AbortSignal {
    return this.ending.signal;
  }

  end(): void {
    this.isLive = false;
    this.ending.abort();
  }

  goLive(): void {
    this.isLive = true;
  }

  moveTo(place: Place): void {
    this.reached = place;
  }

  /** A change that just happened. */
  offer(delivery: Delivery): void {
    if (delivery.position <= this.reached.position || this.isUnwanted(delivery) || this.signal.aborted) return;
    if (!this.isLive) {
      this.buffer.missed(delivery);
      return;
    }
    if (!this.buffer.hasRoom) {
      this.isLive = false;
      this.moveTo(placeOf(delivery.position - 1));
      this.buffer.missed(delivery);
      this.fellBehind(this);
      return;
    }
    this.buffer.send(delivery);
    this.moveTo(placeOf(delivery.position));
  }

  /** Changes that catching up has read, at the pace of the client. @throws when the subscription ends */
  async deliver({ deliveries, end }: Page): Promise<void> {
    for (const delivery of deliveries) {
      if (this.isUnwanted(delivery)) continue;
      if (!this.buffer.hasRoom) await this.buffer.drained(this.signal);
      this.signal.throwIfAborted();
      this.buffer.send(delivery);
    }
    this.moveTo(end);
  }

  private isUnwanted({ blockNumber }: Delivery): boolean {
    return blockNumber < this.fromBlock;
  }
}
