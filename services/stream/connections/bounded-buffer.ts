import { WakeUp } from '../../../shared/primitives/waiting/wake-up.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { SendBuffer } from '../domain/subscription.ts';
import type { SlowReason } from '../edge/stream-metrics.ts';

/** Maximum unsent data in the transport; beyond it, sending pauses. */
const FRAMES_WAITING_MAX = 256;
export const BYTES_WAITING_MAX = 512 * 1_024;
/**
 * How much a client may miss while it reads nothing. After that it has a grace period to start reading, because a burst
 * reaches these limits too, but is soon over.
 */
const FRAMES_MISSED_MAX = 512;
const BYTES_MISSED_MAX = 1_024 * 1_024;
/** A client that has read nothing for this long, although data waits for it, is disconnected. */
const UNREAD_MS = 30_000;

/** Sends to one client, and limits the data that waits until the client reads it. */
export abstract class BoundedBuffer implements SendBuffer {
  private framesWaiting = 0;
  private bytesWaiting = 0;
  private framesMissed = 0;
  private bytesMissed = 0;
  private stallTimer: NodeJS.Timeout | undefined;
  private unreadTimer: NodeJS.Timeout | undefined;
  private readonly emptied = new WakeUp();

  constructor(
    /** Called when the client has not read anything for too long. */
    private readonly onStalled: (reason: SlowReason) => void,
    private readonly stallGraceMs: number,
  ) {}

  get bytesUnsent(): number {
    return this.bytesWaiting;
  }

  get isEmpty(): boolean {
    return this.framesWaiting === 0;
  }

  get hasRoom(): boolean {
    return (
      this.framesWaiting === 0 || (this.framesWaiting < FRAMES_WAITING_MAX && this.bytesWaiting < BYTES_WAITING_MAX)
    );
  }

  abstract send(delivery: Delivery): void;

  /** To be called for each frame that is sent. */
  protected waits(bytes: number): void {
    this.framesWaiting += 1;
    this.bytesWaiting += bytes;
    this.unreadTimer ??= setTimeout(this.onStalled, UNREAD_MS, 'unread').unref();
  }

  /** To be called when frames were written to the network. */
  protected written(frames: number, bytes: number): void {
    this.framesWaiting -= frames;
    this.bytesWaiting -= bytes;
    this.resetMissed();
    this.unreadTimer?.refresh();
    if (this.framesWaiting > 0) return;
    clearTimeout(this.unreadTimer);
    this.unreadTimer = undefined;
    this.emptied.ring();
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
    this.stallTimer ??= setTimeout(this.onStalled, this.stallGraceMs, 'missed').unref();
  }

  private resetMissed(): void {
    this.framesMissed = 0;
    this.bytesMissed = 0;
    clearTimeout(this.stallTimer);
    this.stallTimer = undefined;
  }
}
