/** Counts what goes wrong in simulations, where it has an effect. */
export class InjectedFaults<Fault extends string> {
  private readonly counts = new Map<Fault, number>();

  constructor(private readonly all: readonly Fault[]) {}

  count(fault: Fault): void {
    this.counts.set(fault, this.of(fault) + 1);
  }

  of(fault: Fault): number {
    return this.counts.get(fault) ?? 0;
  }

  /** Those that never happened. */
  get missing(): Fault[] {
    return this.all.filter((fault) => this.of(fault) === 0);
  }
}
