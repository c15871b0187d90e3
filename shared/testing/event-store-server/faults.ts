import { setTimeout as pause } from 'node:timers/promises';

/** What a server is told to do wrong; at first nothing. */
export class Faults {
  /** So many of the next appends end with their connection: not written … */
  dropBeforeWrite = 0;
  /** … or written, but not answered. */
  dropAfterWrite = 0;
  /** Every call waits this long first. */
  delayMs = 0;
  /** This node follows: writes, and whoever requires the leader, are told where that is. Others read what it has. */
  leader: { host: string; port: number } | undefined;
  /** Listens, but is not ready to read or write. */
  isStarting = false;
  /** How far this node's clock is ahead of its clients'. */
  clockAheadMs = 0;
  private frozen: PromiseWithResolvers<undefined> | undefined;

  /** Takes calls, and does nothing. */
  freeze(): void {
    this.frozen ??= Promise.withResolvers();
  }

  thaw(): void {
    this.frozen?.resolve(undefined);
    this.frozen = undefined;
  }

  /** Whether calls have to wait. */
  get isSlow(): boolean {
    return this.delayMs > 0 || this.frozen !== undefined;
  }

  async slowness(): Promise<void> {
    if (this.delayMs > 0) await pause(this.delayMs);
    await this.frozen?.promise;
  }
}
