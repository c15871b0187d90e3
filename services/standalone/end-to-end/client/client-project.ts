import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { outerEnvironment } from '../../../../shared/testing/processes/running-process.ts';
import { packClient, type PackedClient } from '../../../../shared/tooling/client/pack-client.ts';

const root = join(import.meta.dirname, '../../../..');
/** What the project has beside the client, as if it were installed there: specs ask no registry. */
const INSTALLED = ['socket.io-client', 'ethers', 'react', 'react-dom', '@types/react'];
const WITHIN_MS = 60_000;
const run = promisify(execFile);

/** A new project of somebody else, which has the packed client and a running instance. */
export class ClientProject {
  private readonly programs: ProjectProgram[] = [];

  private constructor(
    readonly folder: string,
    readonly packed: PackedClient,
  ) {}

  static async make(folder: string, dataFolder: string): Promise<ClientProject> {
    const packed = await packClient(root, join(folder, 'package'));
    const project = new ClientProject(join(folder, 'project'), packed);
    const client = join(project.folder, 'node_modules/@annals/client');
    mkdirSync(client, { recursive: true });
    await run('tar', ['-xzf', packed.tarball, '--strip-components=1', '-C', client]);
    for (const name of INSTALLED) {
      const link = join(project.folder, 'node_modules', name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(root, 'node_modules', name), link);
    }
    symlinkSync(dataFolder, join(project.folder, '.annals'));
    project.write('package.json', '{"private": true, "type": "module"}');
    return project;
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  start(file: string, environment: Record<string, string> = {}): ProjectProgram {
    return this.startCommand(process.execPath, [file], environment);
  }

  startCommand(command: string, args: readonly string[], environment: Record<string, string> = {}): ProjectProgram {
    const child = spawn(command, args, { cwd: this.folder, env: { ...outerEnvironment, ...environment } });
    const program = new ProjectProgram(child);
    this.programs.push(program);
    return program;
  }

  async stop(): Promise<void> {
    await Promise.all(this.programs.map((program) => program.kill()));
  }

  /** Compiles files with the strictest settings, and checks the declarations of the client, too. @returns what the compiler says */
  async compile(files: readonly string[]): Promise<string> {
    const compiler = join(root, 'node_modules/typescript-7/bin/tsc');
    const options = {
      ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true, types: [] },
      ...{ target: 'ES2022', module: 'ESNext', moduleResolution: 'bundler', jsx: 'react-jsx' },
      ...{ lib: ['ES2022', 'ESNext.Disposable', 'DOM', 'DOM.Iterable'] },
    };
    this.write('tsconfig.json', JSON.stringify({ compilerOptions: options, files }));
    try {
      return (await run(process.execPath, [compiler, '-p', '.'], { cwd: this.folder })).stdout;
    } catch (error) {
      return (error as { stdout: string }).stdout;
    }
  }
}

/** A program of that project. */
export class ProjectProgram {
  output = '';
  /** Whether the program has ended, and all of its output was read. */
  private isClosed = false;

  constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.output += chunk.toString();
      });
    }
    child.once('close', () => {
      this.isClosed = true;
    });
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  get lines(): string[] {
    return this.output.trimEnd().split('\n');
  }

  /** Waits until the program has printed this. @throws Error with its output, at once if the program has ended */
  async says(saying: RegExp): Promise<void> {
    const waited = eventually(() => saying.test(this.output) || this.isClosed, WITHIN_MS, 'it must be printed');
    const cause: unknown = await waited.then(
      () => undefined,
      (error: unknown) => error,
    );
    if (!saying.test(this.output)) throw new Error(`${String(saying)} must be printed:\n${this.output}`, { cause });
  }

  /** @returns the exit code */
  async ended(): Promise<number | null> {
    if (!this.hasEnded) await once(this.child, 'close');
    return this.child.exitCode;
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended();
  }
}
