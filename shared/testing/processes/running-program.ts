import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { developmentFile, type DevelopmentFile } from '../../../schemas/development-file.ts';
import { RunningProcess } from './running-process.ts';
import { portsOf, testSettings, type WholeProgram } from './whole-program.ts';

const RESTARTS_MAX = 5;

/** The real `npm start` as a child process, from what `npm test` built. */
export class RunningProgram implements WholeProgram {
  private constructor(
    private readonly process: RunningProcess,
    readonly development: DevelopmentFile,
    private readonly started: { dataFolder: string; settings: Record<string, string> },
  ) {}

  /** Starts everything with one data folder, on free ports, and returns when it is ready. */
  static async start(
    dataFolder: string,
    settings: Record<string, string>,
    args: string[] = [],
  ): Promise<RunningProgram> {
    const program = ['services/standalone/main.js', ...args];
    const process = RunningProcess.spawn('npm start', program, { DATA_DIR: dataFolder, ...testSettings, ...settings });
    await process.ready(/Annals is running/);
    const development = developmentFile.parse(JSON.parse(readFileSync(join(dataFolder, 'dev.json'), 'utf8')));
    return new RunningProgram(process, development, { dataFolder, settings });
  }

  get child(): ChildProcess {
    return this.process.child;
  }

  get logs(): string {
    return this.process.lastLines;
  }

  get output(): string {
    return this.process.output;
  }

  /** On the same ports, which a connection of somebody else may have for a moment. */
  async restart(attempts = RESTARTS_MAX): Promise<RunningProgram> {
    const { dataFolder, settings } = this.started;
    try {
      return await RunningProgram.start(dataFolder, { ...settings, ...portsOf(this.development) });
    } catch (error) {
      if (attempts === 1 || !String(error).includes('EADDRINUSE')) throw error;
      return this.restart(attempts - 1);
    }
  }

  kill(): Promise<void> {
    return this.process.kill();
  }

  /** Stops it as Ctrl-C does. Returns the exit code. */
  stop(): Promise<number | null> {
    return this.process.stop();
  }
}
