import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { typescriptProgram } from '../../tooling/typescript/typescript-program.mjs';
import { eventually } from '../eventually.ts';

/** Long enough for a busy machine. */
const START_MS = 90_000;
const SHOWN_LINES = 40;
const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
/** What a program gets of the environment of the specs: none of it is a setting. */
export const outerEnvironment = { PATH, HOME, NODE_COMPILE_CACHE };

/** A program as a child process in its own process group. It ends by itself if this process is killed. */
export class RunningProcess {
  private said = '';
  /** Whether the program has ended, and all of its output was read. */
  private isClosed = false;

  private constructor(
    readonly name: string,
    readonly child: ChildProcess,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.said += chunk.toString();
      });
    }
    child.once('close', () => {
      this.isClosed = true;
    });
  }

  /**
   * Starts it with exactly these settings.
   * @param program a path below dist, or the source of a program that is not built, and its arguments
   */
  static spawn(name: string, program: readonly string[], settings: Record<string, string>): RunningProcess {
    const [file = '', ...args] = program;
    const argv = file.endsWith('.ts') ? typescriptProgram(file) : ['--enable-source-maps', `dist/${file}`];
    const child = spawn(process.execPath, [...argv, ...args], {
      detached: true,
      env: { ...outerEnvironment, ...settings },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    return new RunningProcess(name, child);
  }

  get output(): string {
    return this.said;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** The last output, for failure messages. */
  get lastLines(): string {
    return [`--- ${this.name}`, ...this.said.trimEnd().split('\n').slice(-SHOWN_LINES)].join('\n');
  }

  /** Waits for the line that it prints when it is ready. @throws Error with its last output, at once if the program has ended */
  async ready(saying: RegExp): Promise<RegExpExecArray> {
    try {
      const said = () => saying.exec(this.said) ?? (this.isClosed && 'nothing more');
      const found = await eventually(said, START_MS, `${this.name} must start`);
      if (found === 'nothing more') throw new Error(`${this.name} has ended`);
      return found;
    } catch (cause) {
      throw new Error(this.lastLines, { cause });
    }
  }

  /** Waits for its end. Returns the exit code. */
  async ended(): Promise<number | null> {
    if (!this.hasEnded) await once(this.child, 'close');
    return this.child.exitCode;
  }

  /** Kills it as a crash would: no handler runs. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** Stops it as Ctrl-C does. Returns the exit code. */
  async stop(): Promise<number | null> {
    await this.end('SIGINT');
    return this.child.exitCode;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    this.child.kill(signal);
    await this.ended();
  }
}
