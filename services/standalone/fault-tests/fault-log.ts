/** The faults that a test injected since the last comparison without differences, in order and with their times. */
export class FaultLog {
  private faults: string[] = [];
  private since: number;

  /** @param now a monotonic clock in milliseconds */
  constructor(private readonly now: () => number = () => performance.now()) {
    this.since = now();
  }

  add(what: string): void {
    this.faults.push(`${((this.now() - this.since) / 1_000).toFixed(1)} s: ${what}`);
  }

  clear(): void {
    this.faults = [];
    this.since = this.now();
  }

  get text(): string {
    return `after ${this.faults.length > 0 ? this.faults.join('; ') : 'no fault'}`;
  }
}
