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
  private code: 0 | 1 = 0;

  constructor(private readonly logger: Logger) {}

  /** Aborts when the shutdown is requested. */
  get signal(): AbortSignal {
    return this.requested.signal;
  }

  get isRequested(): boolean {
    return this.signal.aborted;
  }

  /** The exit code of the process. */
  get exitCode(): 0 | 1 {
    return this.code;
  }

  /** Requests the shutdown. A start in progress ends as soon as its current part has started. */
  request(): void {
    this.requested.abort(new StartCancelled());
  }

  /** Requests the shutdown after a failure, which is logged: the process exits with code 1. */
  fail(reason: string, err?: unknown): void {
    this.logger.fatal({ err }, `${reason}: stopping`);
    this.code = 1;
    this.request();
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
