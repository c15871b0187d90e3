import { setImmediate as nextTick } from 'node:timers/promises';
import { limitedAtATime } from '../limits/rate-limits.ts';

/**
 * Maximum unread bytes of the answers to one address, before it may send further requests: some 40 of the longest
 * answers.
 */
const UNREAD_BYTES_MAX = 32 * 1_024 * 1_024;

interface UnderWay {
  requests: number;
  unreadBytes: number;
}

/** The requests in progress, by address. */
export class RequestsUnderWay {
  private readonly byAddress = new Map<string, UnderWay>();
  private readonly ticks = new Map<string, Promise<void>>();

  constructor(private readonly max: number) {}

  /** Returns a function to call when the request has ended. @throws Refusal rate_limited */
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
   * Admits one request per address and tick, so that other addresses get their turn between many long requests.
   * @throws Refusal rate_limited if the address has read too little of earlier answers
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

  /** Counts an answer as unread. Returns a function to call once it was read. */
  answered(address: string, bytes: number): () => void {
    const underWay = this.byAddress.get(address) ?? { requests: 0, unreadBytes: 0 };
    underWay.unreadBytes += bytes;
    return () => {
      underWay.unreadBytes -= bytes;
    };
  }
}
