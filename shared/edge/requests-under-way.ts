import { setImmediate as nextTurn } from 'node:timers/promises';
import { limitedAtATime } from './rate-limits.ts';

/** The requests under way, by address. */
export class RequestsUnderWay {
  private readonly counts = new Map<string, number>();
  private readonly turns = new Map<string, Promise<void>>();

  constructor(private readonly max: number) {}

  /** Returns what to call when the request has ended. @throws Refusal rate_limited */
  begin(address: string): () => void {
    const count = (this.counts.get(address) ?? 0) + 1;
    if (count > this.max) throw limitedAtATime(`${String(this.max)} requests of one address`);
    this.counts.set(address, count);
    return () => {
      const left = (this.counts.get(address) ?? 0) - 1;
      if (left > 0) this.counts.set(address, left);
      else this.counts.delete(address);
    };
  }

  /** Lets one request of an address go on in each turn of the event loop: many long ones leave others room in between. */
  async turn(address: string): Promise<void> {
    const before = this.turns.get(address);
    const mine = before ? before.then(() => nextTurn()) : nextTurn();
    this.turns.set(address, mine);
    void mine.then(() => {
      if (this.turns.get(address) === mine) this.turns.delete(address);
    });
    await before;
  }
}
