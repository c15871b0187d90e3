import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';

const SHOWN = 4_000;

/** Another program, as a process of its own. */
export class StartedProgram {
  private said = '';

  private constructor(
    private readonly name: string,
    private readonly child: ChildProcess,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.said = (this.said + chunk.toString()).slice(-SHOWN);
      });
    }
  }

  static start(name: string, [command = '', ...args]: readonly string[], options: SpawnOptions): StartedProgram {
    return new StartedProgram(name, spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** @throws an error with its last output, if it has ended */
  requireRunning(): void {
    if (this.hasEnded) throw new Error(`${this.name} has ended:\n${this.said}`);
  }

  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.hasEnded) return;
    const ended = once(this.child, 'exit');
    this.child.kill(signal);
    await ended;
  }

  private get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }
}
