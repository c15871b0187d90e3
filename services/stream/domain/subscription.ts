import type { Channel } from './channel.ts';
import { resumePointAfter, type ResumePoint } from './cursor.ts';
import type { Delivery, Page } from './delivery.ts';

/** Sends to one client; shared by its subscriptions. */
export interface SendBuffer {
  /** Whether another delivery may be sent before those that wait have been written to the network. */
  readonly hasRoom: boolean;
  send: (delivery: Delivery) => void;
  /** Returns when no delivery waits. @throws when the signal aborts */
  drained: (signal: AbortSignal) => Promise<void>;
  /** Counts a delivery that is not sent now, because the client is behind or has not caught up yet. */
  countMissed: (delivery: Delivery) => void;
}

interface SubscriptionOptions {
  id: string;
  channel: Channel;
  buffer: SendBuffer;
  resumePoint: ResumePoint;
  /** The first block of which the client wants events. */
  fromBlock: number;
  /** Lets others be served before the next page is read. */
  yieldToOthers: () => Promise<void>;
  /** Called when a live subscription has no room for a delivery: it is not live any more, and must catch up. */
  onFallBehind: (subscription: Subscription) => void;
}

/**
 * One subscription of a client to one channel. Invariant: everything up to the resume point has been sent, or is of a
 * block before `fromBlock`. A live subscription is sent what `offer` receives; one that catches up is sent what `sendPage` receives.
 */
export class Subscription {
  readonly id: string;
  readonly channel: Channel;
  readonly fromBlock: number;
  private readonly buffer: SendBuffer;
  private readonly yieldToOthers: () => Promise<void>;
  private readonly onFallBehind: (subscription: Subscription) => void;
  private readonly ending = new AbortController();
  private isLive = false;
  private reached: ResumePoint;

  constructor({ id, channel, buffer, resumePoint, fromBlock, yieldToOthers, onFallBehind }: SubscriptionOptions) {
    this.id = id;
    this.channel = channel;
    this.buffer = buffer;
    this.reached = resumePoint;
    this.fromBlock = fromBlock;
    this.yieldToOthers = yieldToOthers;
    this.onFallBehind = onFallBehind;
  }

  get resumePoint(): ResumePoint {
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

  moveTo(resumePoint: ResumePoint): void {
    this.reached = resumePoint;
  }

  /** Sends a new delivery, if the subscription is live and its client has room. */
  offer(delivery: Delivery): void {
    if (delivery.position <= this.reached.position || this.isBeforeFromBlock(delivery) || this.signal.aborted) return;
    if (!this.isLive) {
      this.buffer.countMissed(delivery);
      return;
    }
    if (!this.buffer.hasRoom) {
      this.isLive = false;
      this.moveTo(resumePointAfter(delivery.position - 1));
      this.buffer.countMissed(delivery);
      this.onFallBehind(this);
      return;
    }
    this.buffer.send(delivery);
    this.moveTo(resumePointAfter(delivery.position));
  }

  /** Sends a page that was read to catch up, as fast as the client reads and others let it. @throws when the subscription ends */
  async sendPage({ deliveries, end }: Page): Promise<void> {
    for (const delivery of deliveries) {
      if (this.isBeforeFromBlock(delivery)) continue;
      if (!this.buffer.hasRoom) await this.buffer.drained(this.signal);
      this.signal.throwIfAborted();
      this.buffer.send(delivery);
    }
    this.moveTo(end);
    await this.yieldToOthers();
  }

  private isBeforeFromBlock({ blockNumber }: Delivery): boolean {
    return blockNumber < this.fromBlock;
  }
}
