import type { Socket } from 'socket.io';
import { STREAM_NAMESPACE } from '../../../schemas/socket/stream-messages.ts';
import { WakeUp } from '../../../shared/primitives/wake-up.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { SendBuffer } from '../domain/subscription.ts';

/** How much may wait in the transport before sending pauses. */
const FRAMES_WAITING_MAX = 256;
const BYTES_WAITING_MAX = 512 * 1_024;
/**
 * How much a client may miss while it reads nothing. After that it has a grace period in which to read, because a burst
 * reaches these limits too, and is over sooner.
 */
const FRAMES_MISSED_MAX = 512;
const BYTES_MISSED_MAX = 1_024 * 1_024;
const STALL_GRACE_MS = 3_000;
/** A client that reads nothing of what waits for it for so long is disconnected. */
const UNREAD_MS = 30_000;

/** Sends to one Socket.IO client, with a limit on what waits for it: Socket.IO's own buffer has none. */
export class SocketBuffer implements SendBuffer {
  private framesWaiting = 0;
  private bytesWaiting = 0;
  private framesMissed = 0;
  private bytesMissed = 0;
  private stallTimer: NodeJS.Timeout | undefined;
  private unreadTimer: NodeJS.Timeout | undefined;
  private readonly emptied = new WakeUp();

  constructor(
    private readonly connection: Socket['conn'],
    /** Called when the client has not read anything for too long. */
    private readonly onStalled: () => void,
  ) {}

  get isEmpty(): boolean {
    return this.framesWaiting === 0;
  }

  get hasRoom(): boolean {
    return (
      this.framesWaiting === 0 || (this.framesWaiting < FRAMES_WAITING_MAX && this.bytesWaiting < BYTES_WAITING_MAX)
    );
  }

  send(delivery: Delivery): void {
    const { packet, options, bytes } = frameOf(delivery);
    this.framesWaiting += 1;
    this.bytesWaiting += bytes;
    this.unreadTimer ??= setTimeout(this.onStalled, UNREAD_MS).unref();
    this.connection.write(packet, options, () => {
      this.framesWaiting -= 1;
      this.bytesWaiting -= bytes;
      this.resetMissed();
      this.unreadTimer?.refresh();
      if (this.framesWaiting > 0) return;
      clearTimeout(this.unreadTimer);
      this.unreadTimer = undefined;
      this.emptied.ring();
    });
  }

  async drained(signal: AbortSignal): Promise<void> {
    while (this.framesWaiting > 0) {
      signal.throwIfAborted();
      await this.emptied.wait(this.emptied.rung, signal);
    }
  }

  countMissed(delivery: Delivery): void {
    if (this.framesWaiting === 0) return;
    this.framesMissed += 1;
    this.bytesMissed += delivery.json.length;
    if (this.framesMissed <= FRAMES_MISSED_MAX && this.bytesMissed <= BYTES_MISSED_MAX) return;
    this.stallTimer ??= setTimeout(this.onStalled, STALL_GRACE_MS).unref();
  }

  private resetMissed(): void {
    this.framesMissed = 0;
    this.bytesMissed = 0;
    clearTimeout(this.stallTimer);
    this.stallTimer = undefined;
  }
}

interface Frame {
  /** A Socket.IO packet: an event of the namespace. */
  packet: string;
  /** Engine.IO sends this frame (RFC 6455) instead of encoding the packet, as for Socket.IO's own broadcasts. */
  options: { compress: boolean; wsPreEncodedFrame: Buffer[] };
  bytes: number;
}

const EVENT = '2';
const MESSAGE = '4';
const framesByDelivery = new WeakMap<Delivery, Frame>();

/** Encodes a delivery once for all clients. */
const frameOf = (delivery: Delivery): Frame => {
  const known = framesByDelivery.get(delivery);
  if (known) return known;
  const packet = `${EVENT}${STREAM_NAMESPACE},["event",${delivery.json}]`;
  const wsPreEncodedFrame = textFrame(MESSAGE + packet);
  const bytes = wsPreEncodedFrame.reduce((sum, part) => sum + part.length, 0);
  const frame = { packet, options: { compress: false, wsPreEncodedFrame }, bytes };
  framesByDelivery.set(delivery, frame);
  return frame;
};

const FINAL_TEXT = 0x81;
const LENGTH_IN_TWO_BYTES = 126;
const LENGTH_IN_EIGHT_BYTES = 127;

/** Returns a whole, unmasked text message: RFC 6455, section 5.2. */
const textFrame = (text: string): Buffer[] => {
  const payload = Buffer.from(text);
  const { length } = payload;
  if (length < LENGTH_IN_TWO_BYTES) return [Buffer.from([FINAL_TEXT, length]), payload];
  const isShort = length < 65_536;
  const header = Buffer.alloc(isShort ? 4 : 10);
  header.writeUInt8(FINAL_TEXT, 0);
  header.writeUInt8(isShort ? LENGTH_IN_TWO_BYTES : LENGTH_IN_EIGHT_BYTES, 1);
  if (isShort) header.writeUInt16BE(length, 2);
  else header.writeBigUInt64BE(BigInt(length), 2);
  return [header, payload];
};
