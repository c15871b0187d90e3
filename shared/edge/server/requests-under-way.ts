import { setImmediate as nextTick } from 'node:timers/promises';
import { limitedAtATime } from './rate-limits.ts';

/** What one address may leave unread of its answers, before it can ask for more: some 40 of the longest. */
const UNREAD_BYTES_MAX = 32 * 1_024 * 1_024;

interface UnderWay {
  requests: number;
  unreadBytes: number;
}

/** The requests under way, by address. */
export class RequestsUnderWay {
  private readonly byAddress = new Map<string, UnderWay>();
  private readonly ticks = new Map<string, Promise<void>>();

  constructor(private readonly max: number) {}

  /** Returns what to call when the request has ended. @throws Refusal rate_limited */
  begin(address: string): () => void {
    const underWay = this.byAddress.get(address) ?? { requests: 0, unreadBytes: 0 };
    if (underWay.requests >= this.max) throw limitedAtATime(`${String(this.max)} requests of one address`);
    underWay.requests += 1;
    this.byAddress.set(address, underWay);
    return () => {
      underWay.requests -= 1;
      if (underWay.requests === 0) this.byAddress.delete(address);
    };
  }

  /**
   * Lets one request of an address go on in each tick of the event loop: many long ones leave others room in between.
   * @throws Refusal rate_limited when it has read too little of what it asked for before
   */
  async waitForTick(address: string): Promise<void> {
    const before = this.ticks.get(address);
    const mine = before ? before.then(() => nextTick()) : nextTick();
    this.ticks.set(address, mine);
    void mine.then(() => {
      if (this.ticks.get(address) === mine) this.ticks.delete(address);
    });
    await before;
    const { unreadBytes = 0 } = this.byAddress.get(address) ?? {};
    if (unreadBytes > UNREAD_BYTES_MAX) throw limitedAtATime('32 MiB of answers that are not read');
  }

  /** Counts an answer of a request that is under way. Returns what to call when it was read. */
  answered(address: string, bytes: number): () => void {
    const underWay = this.byAddress.get(address) ?? { requests: 0, unreadBytes: 0 };
    underWay.unreadBytes += bytes;
    return () => {
      underWay.unreadBytes -= bytes;
    };
  }
}
