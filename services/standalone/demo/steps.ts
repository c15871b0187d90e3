export type Print = (line: string) => void;

/** Runs the steps of the demo, and prints the time that each took. */
export class Steps {
  private readonly startedAt = performance.now();
  private current = '';

  constructor(readonly print: Print) {}

  async run<Result>(name: string, work: () => Promise<Result>, shown: (result: Result) => string): Promise<Result> {
    this.current = name;
    const from = performance.now();
    const result = await work();
    this.print(`ok    ${name.padEnd(30)} ${this.since(from)}   ${shown(result)}`);
    return result;
  }

  skipped(name: string, reason: string): void {
    this.print(`skip  ${name.padEnd(30)}            ${reason}`);
  }

  failed(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.print(`FAIL  ${this.current.padEnd(30)} ${this.since(this.startedAt)}   ${reason}`);
  }

  private since(from: number): string {
    return `${(performance.now() - from).toFixed(0).padStart(5)} ms`;
  }
}
