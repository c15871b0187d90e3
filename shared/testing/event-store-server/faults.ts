import { setTimeout as pause } from 'node:timers/promises';

/** The faults of a server; initially none. */
export class Faults {
  /** This many of the next appends end with their connection and are not written … */
  dropBeforeWrite = 0;
  /** … or are written, but not answered. */
  dropAfterWrite = 0;
  /** Every call is delayed by this. */
  delayMs = 0;
  /**
   * Set on a follower. Writes, and reads that require the leader, are refused with its address. Other reads are served.
   */
  leader: { host: string; port: number } | undefined;
  /** The server listens, but is not ready to read or write. */
  isStarting = false;
  /** How far this node's clock is ahead of its clients'. */
  clockAheadMs = 0;
  private frozen: PromiseWithResolvers<undefined> | undefined;

  /** Accepts calls, and does not process them. */
  freeze(): void {
    this.frozen ??= Promise.withResolvers();
  }

  thaw(): void {
    this.frozen?.resolve(undefined);
    this.frozen = undefined;
  }

  /** Whether calls must wait. */
  get isSlow(): boolean {
    return this.delayMs > 0 || this.frozen !== undefined;
  }

  async slowness(): Promise<void> {
    if (this.delayMs > 0) await pause(this.delayMs);
    await this.frozen?.promise;
  }
}
