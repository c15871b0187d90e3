import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { developmentFile, type DevelopmentFile } from '../../schemas/development-file.ts';
import { eventually } from './eventually.ts';

const START_MS = 60_000;
const READY = 'Annals is running';

/** The real program as a child process, started from what `npm test` built. */
export class RunningProgram {
  private constructor(
    readonly child: ChildProcess,
    /** What clients are told. */
    readonly development: DevelopmentFile,
    readonly output: () => string,
  ) {}

  /** Starts everything on one data folder, all on free ports, and returns when it is ready. */
  static async start(
    dataFolder: string,
    settings: Record<string, string>,
    args: string[] = [],
  ): Promise<RunningProgram> {
    const child = spawn(process.execPath, ['--enable-source-maps', 'dist/services/standalone/main.js', ...args], {
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        DATA_DIR: dataFolder,
        ACCOUNT_PORT: '0',
        EVENT_CATCHER_PORT: '0',
        STREAM_PORT: '0',
        METRICS_PORT: '0',
        LOCAL_CHAIN_PORT: '0',
        RATE_LIMITS: 'off',
        ...settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
    }
    await eventually(
      () => {
        if (child.exitCode !== null) throw new Error(output);
        return output.includes(READY);
      },
      START_MS,
      `the program must start; it said:\n${output}`,
    );
    const development = developmentFile.parse(JSON.parse(readFileSync(join(dataFolder, 'dev.json'), 'utf8')));
    return new RunningProgram(child, development, () => output);
  }

  /** Settings for a start in this one's place: where clients, and the issuer of their tokens, expect it. */
  get samePorts(): Record<string, string> {
    const { accountUrl, eventUrl, streamUrl } = this.development;
    return {
      ACCOUNT_PORT: new URL(accountUrl).port,
      EVENT_CATCHER_PORT: new URL(eventUrl).port,
      STREAM_PORT: new URL(streamUrl).port,
    };
  }

  /** As a crash: no handler runs. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
  }

  /** As Ctrl-C. Returns the exit code and how long it took. */
  async stop(): Promise<{ code: number | null; tookMs: number }> {
    const from = performance.now();
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill('SIGINT');
      await once(this.child, 'exit');
    }
    return { code: this.child.exitCode, tookMs: performance.now() - from };
  }
}
