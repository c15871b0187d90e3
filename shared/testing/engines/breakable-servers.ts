import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../eventually.ts';
import { exportedSettings } from './exported-settings.ts';
import { freePort } from '../processes/free-port.ts';

const run = promisify(execFile);

export type ServerName = 'kafka' | 'mongo';

const isServed = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
      .once('error', () => resolve(false))
      .once('connect', () => {
        socket.destroy();
        resolve(true);
      });
  });

/** Two for Kafka, and one for MongoDB. */
const PORTS = 3;

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
    const port = await freePort(PORTS);
    const environment = {
      ...process.env,
      ANNALS_SERVERS_DIR: folder,
      ANNALS_KAFKA_PORT: String(port),
      ANNALS_MONGO_PORT: String(port + 2),
    };
    const stdout = await startedBy(scripts, names, environment);
    return new BreakableServers(scripts, environment, exportedSettings(stdout));
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
