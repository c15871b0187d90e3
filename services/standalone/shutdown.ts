import type { Logger } from '../../shared/observability/logger.ts';

/** What was started, in order, each with what ends it. */
export class Shutdown {
  private readonly steps: { name: string; end: () => Promise<void> | void }[] = [];

  constructor(private readonly logger: Logger) {}

  add(name: string, end: () => Promise<void> | void): void {
    this.steps.push({ name, end });
  }

  /** Ends everything, the last started first; what fails is logged and does not keep the rest from ending. */
  async run(): Promise<void> {
    for (const { name, end } of this.steps.splice(0).reverse()) {
      try {
        await end();
      } catch (error) {
        this.logger.error({ err: error }, `${name} did not stop well`);
      }
    }
  }
}
