import type { SupervisedLoop } from './supervised-loop.ts';

/** Several loops that start and stop together. */
export class Loops {
  constructor(private readonly loops: readonly SupervisedLoop[]) {}

  start(): void {
    for (const loop of this.loops) loop.start();
  }

  /** Returns when every loop has ended. */
  async stop(): Promise<void> {
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }

  /** Whether each loop runs here, or is on standby. */
  get areWorking(): boolean {
    return this.loops.every(({ state }) => state === 'running' || state === 'standby');
  }
}
