import { problemCatalogue, type ProblemCode } from '../../../../schemas/http/problem.ts';
import type { StreamPage } from '../../../../schemas/http/stream/stream-routes.ts';
import type { StreamMessages } from '../../../../schemas/socket/stream-messages.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { untilAborted } from '../../../../shared/primitives/waiting/until-aborted.ts';
import type { Connection } from '../connections.ts';
import type { Delivery } from '../../domain/delivery.ts';
import type { Subscriber } from '../../domain/subscriber.ts';
import type { SendBuffer } from '../../domain/subscription.ts';
import { HttpSubscriber, type Requester } from './http-subscriber.ts';

interface PageOptions {
  take: number;
  /** How long an empty page waits for the next event. */
  waitMs: number;
  /** A page that is not full after this time is answered with what it has. */
  collectingMs: number;
}

/** A subscription that ends as soon as its page is full, or there is nothing more. */
export class PageRequest extends HttpSubscriber implements Subscriber, Connection, SendBuffer {
  readonly buffer = this;
  readonly deliveries: Delivery[] = [];
  readonly signal: AbortSignal;
  readonly bytesUnsent = 0;
  /** The cursor of the message `live`; `undefined` before it. */
  liveAt: string | undefined;
  gap: StreamPage['gap'] = null;
  private readonly finished = Promise.withResolvers<undefined>();
  private isFinished = false;
  private refusal: Refusal | undefined;
  private timer: NodeJS.Timeout;

  constructor(
    requester: Requester,
    private readonly options: PageOptions,
  ) {
    super(requester);
    this.timer = this.finishIn(options.collectingMs);
    this.signal = requester.signal;
  }

  /** How many more deliveries the page has room for. */
  get room(): number {
    return this.isFinished ? 0 : this.options.take - this.deliveries.length;
  }

  get hasRoom(): boolean {
    return this.room > 0;
  }

  get isFull(): boolean {
    return this.deliveries.length === this.options.take;
  }

  /** Returns when the page is complete. @throws Refusal when the subscription was stopped */
  async complete(): Promise<void> {
    await this.finished.promise;
    if (this.refusal) throw this.refusal;
  }

  send(delivery: Delivery): void {
    this.deliveries.push(delivery);
    if (this.isFull) {
      this.finish();
    } else if (this.liveAt !== undefined) {
      // The deliveries of a block come in one tick.
      setImmediate(() => {
        this.finish();
      });
    }
  }

  /** There is no more room: the subscription waits until it ends. */
  drained(signal: AbortSignal): Promise<void> {
    return untilAborted(new Promise(() => undefined), signal);
  }

  countMissed(): void {
    // They are in the next page.
  }

  emit<Name extends keyof StreamMessages>(name: Name, message: StreamMessages[Name]): void;
  emit(name: string, message: object): void {
    if (name === 'live' && 'cursor' in message) this.goLive(String(message.cursor));
    if (name === 'gap') {
      const { subscriptionId: _, ...gap } = message as StreamMessages['gap'];
      this.gap = gap;
      this.finish();
    }
    if (name === 'stopped') this.stop((message as StreamMessages['stopped']).code);
  }

  /** To be called when there is nothing after the deliveries. An empty page waits for the next one. */
  goLive(cursor: string): void {
    if (this.isFinished) return;
    this.liveAt = cursor;
    clearTimeout(this.timer);
    const { waitMs } = this.options;
    if (this.deliveries.length > 0 || waitMs === 0) this.finish();
    else this.timer = this.finishIn(waitMs);
  }

  stop(code: ProblemCode): void {
    this.refusal = new Refusal(code, problemCatalogue[code].title);
    this.finish();
  }

  disconnect(): void {
    this.finish();
  }

  private finishIn(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.finish();
    }, ms);
  }

  private finish(): void {
    this.isFinished = true;
    clearTimeout(this.timer);
    this.finished.resolve(undefined);
  }
}
