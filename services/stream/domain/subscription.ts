import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Channel } from './channel.ts';
import { resumePointAfter, type ResumePoint } from '../../../shared/keys/stream-cursors.ts';
import type { Delivery, Page } from './delivery.ts';

/** Sends to one client; shared by its subscriptions. */
export interface SendBuffer {
  /** Whether another delivery may be sent before the waiting ones are written to the network. */
  readonly hasRoom: boolean;
  send: (delivery: Delivery) => void;
  /** Returns when no delivery is waiting. @throws when the signal aborts */
  drained: (signal: AbortSignal) => Promise<void>;
  /** Counts a delivery that is not sent now, because the client lags or has not caught up yet. */
  countMissed: (delivery: Delivery) => void;
}

interface SubscriptionOptions {
  id: string;
  channel: Channel;
  buffer: SendBuffer;
  resumePoint: ResumePoint;
  /** The first block of which the client wants events. */
  fromBlock: number;
  /** The client wants every change after this position, whatever its block; default: of no other blocks. */
  since?: Position | undefined;
  /** Yields to other work before the next page is read. */
  yieldToOthers: () => Promise<void>;
  /** Called when a live subscription has no room for a delivery: it is no longer live, and must catch up. */
  onFallBehind: (subscription: Subscription) => void;
}

/**
 * One subscription of a client to one channel. Invariant: everything up to the resume point has been sent, or belongs
 * to a block before `fromBlock`. While live, `offer` sends; while catching up, `sendPage` does.
 */
export class Subscription {
  readonly id: string;
  readonly channel: Channel;
  /** Made when somebody asks for its signal: most subscriptions never wait for anything. */
  private ending: AbortController | undefined;
  private hasEnded = false;
  private isLive = false;
  private reached: ResumePoint;

  constructor(private readonly options: SubscriptionOptions) {
    this.id = options.id;
    this.channel = options.channel;
    this.reached = options.resumePoint;
  }

  get resumePoint(): ResumePoint {
    return this.reached;
  }

  get isEnded(): boolean {
    return this.hasEnded;
  }

  /** Aborts when the subscription ends. */
  get signal(): AbortSignal {
    this.ending ??= new AbortController();
    if (this.hasEnded) this.ending.abort();
    return this.ending.signal;
  }

  end(): void {
    this.isLive = false;
    this.hasEnded = true;
    this.ending?.abort();
  }

  goLive(): void {
    this.isLive = true;
  }

  moveTo(resumePoint: ResumePoint): void {
    this.reached = resumePoint;
  }

  /** Sends a new delivery, if the subscription is live and its client has room. */
  offer(delivery: Delivery): void {
    const { buffer, onFallBehind } = this.options;
    if (delivery.position <= this.reached.position || this.isBeforeFromBlock(delivery) || this.hasEnded) return;
    if (!this.isLive) {
      buffer.countMissed(delivery);
      return;
    }
    if (!buffer.hasRoom) {
      this.isLive = false;
      this.moveTo(resumePointAfter(delivery.position - 1));
      buffer.countMissed(delivery);
      onFallBehind(this);
      return;
    }
    buffer.send(delivery);
    this.moveTo(resumePointAfter(delivery.position));
  }

  /**
   * Sends a page of the catch-up, as fast as the client reads and other work permits.
   * @throws when the subscription ends
   */
  async sendPage({ deliveries, end }: Page): Promise<void> {
    const { buffer, yieldToOthers } = this.options;
    for (const delivery of deliveries) {
      if (this.isBeforeFromBlock(delivery)) continue;
      if (!buffer.hasRoom) await buffer.drained(this.signal);
      if (this.hasEnded) this.signal.throwIfAborted();
      buffer.send(delivery);
    }
    this.moveTo(end);
    await yieldToOthers();
  }

  private isBeforeFromBlock({ blockNumber, position }: Delivery): boolean {
    const { fromBlock, since = Infinity } = this.options;
    return blockNumber < fromBlock && position <= since;
  }
}
