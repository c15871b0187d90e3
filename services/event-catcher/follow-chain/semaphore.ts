import { WakeUp } from '../../../shared/primitives/wake-up.ts';

/** Lets so many work at a time; the others wait, or give up when they are aborted. */
export class Semaphore {
  private readonly freed = new WakeUp();

  constructor(private free: number) {}

  async use(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    while (this.free === 0 && !signal.aborted) await this.freed.wait(this.freed.rung, signal);
    if (signal.aborted) return;
    this.free -= 1;
    try {
      await work();
    } finally {
      this.free += 1;
      this.freed.ring();
    }
  }
}
