import type { Logger } from 'pino';

/** Thrown into a start while the process stops, so that nothing more is started. */
class StartCancelled extends Error {
  override readonly name = 'StartCancelled';
  constructor() {
    super('the program is stopping');
  }
}

/** Ends what was started, in reverse order. */
export class Shutdown {
  private readonly steps: { name: string; end: () => Promise<void> | void }[] = [];
  private readonly requested = new AbortController();

  constructor(private readonly logger: Logger) {}

  /** Aborts when the shutdown is requested. */
  get signal(): AbortSignal {
    return this.requested.signal;
  }

  get isRequested(): boolean {
    return this.signal.aborted;
  }

  /** Requests the shutdown. A start in progress ends as soon as its current part has started. */
  request(): void {
    this.requested.abort(new StartCancelled());
  }

  /** @throws StartCancelled after `request`; the given part is ended nevertheless */
  add(name: string, end: () => Promise<void> | void): void {
    this.steps.push({ name, end });
    this.signal.throwIfAborted();
  }

  /** Ends everything, the last started first. Logs a failure and continues. */
  async run(): Promise<void> {
    for (let step = this.steps.pop(); step; step = this.steps.pop()) await this.end(step);
  }

  /** Begins to end everything concurrently, without waiting. */
  abandon(): void {
    for (const step of this.steps.splice(0).reverse()) void this.end(step);
  }

  private async end({ name, end }: (typeof this.steps)[number]): Promise<void> {
    try {
      await end();
    } catch (error) {
      this.logger.error({ err: error }, `${name} did not stop properly`);
    }
  }
}
