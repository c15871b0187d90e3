import { limitedAtATime } from './rate-limits.ts';

/** How many requests of each address are under way. */
export class RequestsUnderWay {
  private readonly counts = new Map<string, number>();

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
}
