import type { Logger } from 'pino';

/** Thrown into a start that is to stop: nothing more is started. */
class StartCancelled extends Error {
  override readonly name = 'StartCancelled';
  constructor() {
    super('the program is stopping');
  }
}

/** What was started, in order, each with what ends it. */
export class Shutdown {
  private readonly steps: { name: string; end: () => Promise<void> | void }[] = [];
  private readonly requested = new AbortController();

  constructor(private readonly logger: Logger) {}

  /** Aborts when it is asked for. */
  get signal(): AbortSignal {
    return this.requested.signal;
  }

  get isRequested(): boolean {
    return this.signal.aborted;
  }

  /** From now on a start goes no further than to what it is just starting. */
  request(): void {
    this.requested.abort(new StartCancelled());
  }

  /** @throws StartCancelled after `request`; what is given here is ended all the same */
  add(name: string, end: () => Promise<void> | void): void {
    this.steps.push({ name, end });
    this.signal.throwIfAborted();
  }

  /** Ends everything, the last started first; what fails is logged and does not keep the rest from ending. */
  async run(): Promise<void> {
    for (let step = this.steps.pop(); step; step = this.steps.pop()) await this.end(step);
  }

  /** Begins to end everything at once, and waits for nothing: time is up. */
  abandon(): void {
    for (const step of this.steps.splice(0).reverse()) void this.end(step);
  }

  private async end({ name, end }: (typeof this.steps)[number]): Promise<void> {
    try {
      await end();
    } catch (error) {
      this.logger.error({ err: error }, `${name} did not stop well`);
    }
  }
}
