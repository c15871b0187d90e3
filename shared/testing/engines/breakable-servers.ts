import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../eventually.ts';

const run = promisify(execFile);

export type ServerName = 'kafka' | 'mongo';

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
      .once('error', () => resolve(false))
      .listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });

const isServed = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
      .once('error', () => resolve(false))
      .once('connect', () => {
        socket.destroy();
        resolve(true);
      });
  });

/** Below the system's ephemeral ports: a client that connects to a stopped server could otherwise be given its port. */
const PORTS = { first: 20_000, last: 32_000 } as const;

/** Returns the first of three consecutive ports: two for Kafka, and one more. */
const freePorts = async (): Promise<number> => {
  const first = randomInt(PORTS.first, PORTS.last);
  const free = await Promise.all([first, first + 1, first + 2].map((port) => isFree(port)));
  return free.every(Boolean) ? first : freePorts();
};

/** The script gives a server half a minute, which is too little on a busy machine. */
const START_WITHIN_MS = 300_000;

/**
 * Starts servers, and waits until each accepts connections: called again, the script leaves one alone that still starts.
 * @returns what the script prints: their settings
 */
const startedBy = async (scripts: string, names: readonly ServerName[], env: NodeJS.ProcessEnv): Promise<string> => {
  const { stdout } = await eventually(
    () => run(join(scripts, 'up'), names, { env }),
    START_WITHIN_MS,
    'the servers must start',
  );
  for (const [, port] of stdout.matchAll(/127\.0\.0\.1:(\d+)/g))
    await eventually(() => isServed(Number(port)), START_WITHIN_MS, `port ${String(port)} must be served`);
  return stdout;
};

/**
 * Servers of a single test, which may stop and start them with the scripts `up` and `down` of the folder
 * `TEST_SERVERS`.
 */
export class BreakableServers {
  private constructor(
    private readonly scripts: string,
    private readonly environment: NodeJS.ProcessEnv,
    /** `KAFKA_BROKERS` and `MONGO_URL`. */
    readonly settings: Readonly<Record<string, string>>,
  ) {}

  /** @param folder for the data of the servers */
  static async start(folder: string, names: readonly ServerName[]): Promise<BreakableServers> {
    const scripts = process.env['TEST_SERVERS'];
    if (!scripts) throw new Error('TEST_SERVERS is not set to a folder');
    const port = await freePorts();
    const environment = {
      ...process.env,
      ANNALS_SERVERS_DIR: folder,
      ANNALS_KAFKA_PORT: String(port),
      ANNALS_MONGO_PORT: String(port + 2),
    };
    const stdout = await startedBy(scripts, names, environment);
    const settings = Array.from(stdout.matchAll(/^export (\w+)=(.*)$/gm), ([, name = '', value = '']) => [name, value]);
    return new BreakableServers(scripts, environment, Object.fromEntries(settings) as Record<string, string>);
  }

  /** Kills a server, as a crash would. */
  async kill(name: ServerName): Promise<void> {
    await run(join(this.scripts, 'down'), ['--kill', name], { env: this.environment });
  }

  /** Starts a server again, with its data. */
  async revive(name: ServerName): Promise<void> {
    await startedBy(this.scripts, [name], this.environment);
  }

  /** Kills them: nobody needs their data, and one that wrote it for long would be left running. */
  async stop(): Promise<void> {
    await run(join(this.scripts, 'down'), ['--kill', '--erase'], { env: this.environment });
  }
}
