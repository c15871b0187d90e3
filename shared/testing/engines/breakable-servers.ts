import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type ServerName = 'kafka' | 'mongo';

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
      .once('error', () => resolve(false))
      .listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });

/** Below the system's ephemeral ports: a client that connects to a stopped server could otherwise be given its port. */
const PORTS = { first: 20_000, last: 32_000 } as const;

/** Returns the first of three consecutive ports: two for Kafka, and one more. */
const freePorts = async (): Promise<number> => {
  const first = randomInt(PORTS.first, PORTS.last);
  const free = await Promise.all([first, first + 1, first + 2].map((port) => isFree(port)));
  return free.every(Boolean) ? first : freePorts();
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
    const { stdout } = await run(join(scripts, 'up'), names, { env: environment });
    const settings = Array.from(stdout.matchAll(/^export (\w+)=(.*)$/gm), ([, name = '', value = '']) => [name, value]);
    return new BreakableServers(scripts, environment, Object.fromEntries(settings) as Record<string, string>);
  }

  /** Kills a server, as a crash would. */
  async kill(name: ServerName): Promise<void> {
    await run(join(this.scripts, 'down'), ['--kill', name], { env: this.environment });
  }

  /** Starts a server again, with its data. */
  async revive(name: ServerName): Promise<void> {
    await run(join(this.scripts, 'up'), [name], { env: this.environment });
  }

  async stop(): Promise<void> {
    await run(join(this.scripts, 'down'), ['--erase'], { env: this.environment });
  }
}
