/** What was done to a system since all was well, in order, each with its moment. */
export class FaultLog {
  private faults: string[] = [];
  private since: number;

  /** @param now milliseconds that only grow */
  constructor(private readonly now: () => number = () => performance.now()) {
    this.since = now();
  }

  add(what: string): void {
    this.faults.push(`${((this.now() - this.since) / 1_000).toFixed(1)} s: ${what}`);
  }

  /** All is well again. */
  clear(): void {
    this.faults = [];
    this.since = this.now();
  }

  get text(): string {
    return `after ${this.faults.length > 0 ? this.faults.join('; ') : 'no fault'}`;
  }
}
