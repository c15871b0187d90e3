import type { Socket } from 'socket.io';
import { STREAM_NAMESPACE } from '../../../../schemas/socket/stream-messages.ts';
import type { Delivery } from '../../domain/delivery.ts';
import type { StreamLimits } from '../../edge/stream-limits.ts';
import type { SlowReason, StreamMetrics } from '../../edge/stream-metrics.ts';
import { BoundedBuffer } from '../bounded-buffer.ts';
import type { WriteQueue } from './write-queue.ts';

/** What the sockets of a process share. */
export interface Writes {
  queue: WriteQueue;
  metrics: Pick<StreamMetrics, 'frames' | 'bytes' | 'slowDisconnects'>;
  limits: Pick<StreamLimits, 'stallGraceMs'>;
}

/**
 * Sends to one Socket.IO client, and limits the unsent data, which Socket.IO's own buffer does not. What is sent until the
 * client comes up in the queue is written as one: a system call costs more than all else that a delivery needs.
 */
export class SocketBuffer extends BoundedBuffer {
  /** Sent, and not written yet. */
  private pending: Delivery[] = [];

  constructor(
    private readonly connection: Socket['conn'],
    private readonly writes: Writes,
    onStalled: (reason: SlowReason) => void,
  ) {
    super(onStalled, writes.limits.stallGraceMs);
  }

  send(delivery: Delivery): void {
    this.waits(frameOf(delivery).length);
    this.pending.push(delivery);
    this.writes.queue.add(this);
  }

  /** Writes what was sent. Called by the queue, and before anything else is written that must not overtake it. */
  flush(): void {
    if (this.pending.length === 0) return;
    const { queue, metrics } = this.writes;
    queue.remove(this);
    const deliveries = this.pending;
    this.pending = [];
    const frames = joinedFrames(deliveries);
    metrics.frames.add({}, deliveries.length);
    metrics.bytes.add({}, frames.length);
    // Engine.IO sends these frames (RFC 6455) instead of encoding a packet, as for Socket.IO's own broadcasts.
    const options = { compress: false, wsPreEncodedFrame: [frames] };
    this.connection.write('', options, () => {
      this.written(deliveries.length, frames.length);
    });
  }
}

const EVENT = '2';
const MESSAGE = '4';
const framesByDelivery = new WeakMap<Delivery, Buffer>();

/** Encodes a delivery once for all clients: a Socket.IO packet, an event of the namespace, as a WebSocket message. */
const frameOf = (delivery: Delivery): Buffer => {
  const known = framesByDelivery.get(delivery);
  if (known) return known;
  const frame = textFrame(`${MESSAGE}${EVENT}${STREAM_NAMESPACE},["event",${delivery.json}]`);
  framesByDelivery.set(delivery, frame);
  return frame;
};

/** The last ones that were joined: most clients wait for the same. */
let joined: { deliveries: readonly Delivery[]; frames: Buffer } = { deliveries: [], frames: Buffer.alloc(0) };

const joinedFrames = (deliveries: readonly Delivery[]): Buffer => {
  const [only] = deliveries;
  if (only && deliveries.length === 1) return frameOf(only);
  const isSame =
    joined.deliveries.length === deliveries.length && deliveries.every((one, at) => one === joined.deliveries[at]);
  if (!isSame) joined = { deliveries, frames: Buffer.concat(deliveries.map(frameOf)) };
  return joined.frames;
};

const FINAL_TEXT = 0x81;
const LENGTH_IN_TWO_BYTES = 126;
const LENGTH_IN_EIGHT_BYTES = 127;

/** Returns a complete, unmasked text message: RFC 6455, section 5.2. */
const textFrame = (text: string): Buffer => {
  const length = Buffer.byteLength(text);
  const start = length < LENGTH_IN_TWO_BYTES ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(start + length);
  frame.writeUInt8(FINAL_TEXT, 0);
  if (start === 2) frame.writeUInt8(length, 1);
  if (start === 4) frame.writeUInt16BE(length, frame.writeUInt8(LENGTH_IN_TWO_BYTES, 1));
  if (start === 10) frame.writeBigUInt64BE(BigInt(length), frame.writeUInt8(LENGTH_IN_EIGHT_BYTES, 1));
  frame.write(text, start);
  return frame;
};
