import { PassThrough } from 'node:stream';
import type { ProblemCode } from '../../../../schemas/http/problem.ts';
import type { Subscribed } from '../../../../schemas/socket/stream-commands.ts';
import type { StreamMessages } from '../../../../schemas/socket/stream-messages.ts';
import { BoundedBuffer } from '../bounded-buffer.ts';
import type { Connection } from '../connections.ts';
import type { Delivery } from '../../domain/delivery.ts';
import type { Subscriber } from '../../domain/subscriber.ts';
import type { StreamLimits } from '../../edge/stream-limits.ts';
import type { StreamMetrics } from '../../edge/stream-metrics.ts';
import { HttpSubscriber, type Requester } from './http-subscriber.ts';

/** A comment so often keeps proxies from closing an idle connection. */
const COMMENT_EVERY_MS = 15_000;
/** How long a client waits before it connects again, unless a stopping node told it otherwise. */
const RETRY_MS = 1_000;
const COMMENT = ':\n\n';

type EventStreamMetrics = Pick<StreamMetrics, 'frames' | 'bytes' | 'slowDisconnects'>;

/** One subscription, as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export class EventStream extends HttpSubscriber implements Subscriber, Connection {
  readonly output = new PassThrough();
  readonly buffer: EventStreamBuffer;
  private readonly ending = new AbortController();
  private readonly comments: NodeJS.Timeout;

  constructor(requester: Requester, metrics: EventStreamMetrics, { stallGraceMs }: Pick<StreamLimits, 'stallGraceMs'>) {
    super(requester);
    this.buffer = new EventStreamBuffer(this.output, metrics, stallGraceMs);
    this.comments = setInterval(() => {
      if (this.buffer.isEmpty) this.output.write(COMMENT);
    }, COMMENT_EVERY_MS).unref();
  }

  get signal(): AbortSignal {
    return this.ending.signal;
  }

  get bytesUnsent(): number {
    return this.buffer.bytesUnsent;
  }

  /** Tells where the subscription begins, so that a client that loses the connection before any event resumes there. */
  begin({ cursor, subscriptionId, state }: Subscribed, lastError: string | null): void {
    this.output.write(`retry: ${String(RETRY_MS)}\nid: ${cursor}\n\n`);
    if (state === 'paused' || state === 'failed') this.emit('state', { subscriptionId, state, lastError });
  }

  emit<Name extends keyof StreamMessages>(name: Name, message: StreamMessages[Name]): void {
    if (this.output.writableEnded) return;
    this.output.write(messageText(name, message));
    if (name === 'stopped') this.disconnect();
  }

  stop(code: ProblemCode): void {
    for (const subscriptionId of this.subscriptions.keys()) this.emit('stopped', { subscriptionId, code });
    this.disconnect();
  }

  disconnect(): void {
    clearInterval(this.comments);
    this.ending.abort();
    this.output.end();
  }
}

class EventStreamBuffer extends BoundedBuffer {
  constructor(
    private readonly output: PassThrough,
    private readonly metrics: EventStreamMetrics,
    stallGraceMs: number,
  ) {
    super((reason) => {
      metrics.slowDisconnects.add({ reason });
      output.destroy();
    }, stallGraceMs);
  }

  send(delivery: Delivery): void {
    const frame = frameOf(delivery);
    this.waits(frame.length);
    this.metrics.frames.add({}, 1);
    this.metrics.bytes.add({}, frame.length);
    this.output.write(frame, () => {
      this.written(1, frame.length);
    });
  }
}

const framesByDelivery = new WeakMap<Delivery, Buffer>();

/** Encodes a delivery once for all clients. */
const frameOf = (delivery: Delivery): Buffer => {
  const known = framesByDelivery.get(delivery);
  if (known) return known;
  const frame = Buffer.from(`id: ${delivery.cursor}\nevent: event\ndata: ${delivery.json}\n\n`);
  framesByDelivery.set(delivery, frame);
  return frame;
};

const messageText = (name: keyof StreamMessages, message: object): string => {
  const fields = [`event: ${name}`];
  if (name === 'live' && 'cursor' in message) fields.unshift(`id: ${String(message.cursor)}`);
  if (name === 'gap' && 'resumeWith' in message) fields.unshift(`id: ${String(message.resumeWith)}`);
  if (name === 'draining' && 'reconnectAfterMs' in message) fields.push(`retry: ${String(message.reconnectAfterMs)}`);
  return `${fields.join('\n')}\ndata: ${JSON.stringify(message)}\n\n`;
};
