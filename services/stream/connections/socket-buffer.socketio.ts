import type { Socket } from 'socket.io';
import { STREAM_NAMESPACE } from '../../../schemas/socket/stream-messages.ts';
import { WakeUp } from '../../../shared/primitives/wake-up.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { SendBuffer } from '../domain/subscription.ts';

/** Given to the transport before its turn to be read is awaited. */
const FRAMES_WAITING_MAX = 256;
const BYTES_WAITING_MAX = 512 * 1_024;
/** What a client may miss without reading anything; then it has a last moment to read, as a burst takes less than that. */
const FRAMES_MISSED_MAX = 512;
const BYTES_MISSED_MAX = 1_024 * 1_024;
const LAST_MOMENT_MS = 3_000;

/** The way to one Socket.IO client, with a bound on what waits for it: Socket.IO's own buffer has none. */
export class SocketBuffer implements SendBuffer {
  private frames = 0;
  private bytes = 0;
  private framesMissed = 0;
  private bytesMissed = 0;
  private lastMoment: NodeJS.Timeout | undefined;
  private readonly left = new WakeUp();

  constructor(
    private readonly connection: Socket['conn'],
    /** Called when the client does not read. */
    private readonly stalled: () => void,
  ) {}

  get isEmpty(): boolean {
    return this.frames === 0;
  }

  get hasRoom(): boolean {
    return this.frames === 0 || (this.frames < FRAMES_WAITING_MAX && this.bytes < BYTES_WAITING_MAX);
  }

  send(delivery: Delivery): void {
    const { packet, options, bytes } = frameOf(delivery);
    this.frames += 1;
    this.bytes += bytes;
    this.connection.write(packet, options, () => {
      this.frames -= 1;
      this.bytes -= bytes;
      this.hasRead();
      if (this.frames === 0) this.left.ring();
    });
  }

  async drained(signal: AbortSignal): Promise<void> {
    while (this.frames > 0) {
      signal.throwIfAborted();
      await this.left.wait(this.left.rung, signal);
    }
  }

  missed(delivery: Delivery): void {
    if (this.frames === 0) return;
    this.framesMissed += 1;
    this.bytesMissed += delivery.json.length;
    if (this.framesMissed <= FRAMES_MISSED_MAX && this.bytesMissed <= BYTES_MISSED_MAX) return;
    this.lastMoment ??= setTimeout(this.stalled, LAST_MOMENT_MS).unref();
  }

  private hasRead(): void {
    this.framesMissed = 0;
    this.bytesMissed = 0;
    clearTimeout(this.lastMoment);
    this.lastMoment = undefined;
  }
}

interface Frame {
  /** Of Socket.IO: an event of the namespace. */
  packet: string;
  /** Engine.IO sends the frame of RFC 6455 instead of encoding the packet, as Socket.IO's own broadcast has it do. */
  options: { compress: boolean; wsPreEncodedFrame: Buffer[] };
  bytes: number;
}

const EVENT = '2';
const MESSAGE = '4';
const frames = new WeakMap<Delivery, Frame>();

/** Encoded once for all clients. */
const frameOf = (delivery: Delivery): Frame => {
  const known = frames.get(delivery);
  if (known) return known;
  const packet = `${EVENT}${STREAM_NAMESPACE},["event",${delivery.json}]`;
  const wsPreEncodedFrame = textFrame(MESSAGE + packet);
  const bytes = wsPreEncodedFrame.reduce((sum, part) => sum + part.length, 0);
  const frame = { packet, options: { compress: false, wsPreEncodedFrame }, bytes };
  frames.set(delivery, frame);
  return frame;
};

const FINAL_TEXT = 0x81;
const LENGTH_IN_TWO_BYTES = 126;
const LENGTH_IN_EIGHT_BYTES = 127;

/** A whole text message from a server: RFC 6455, section 5.2. */
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
