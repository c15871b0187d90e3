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

/** Below the ports that the system gives to clients: one that asks for a server that is away could be given its port. */
const PORTS = { first: 20_000, last: 32_000 } as const;

/** Three ports in a row: Kafka's two, and one more. */
const freePorts = async (): Promise<number> => {
  const first = randomInt(PORTS.first, PORTS.last);
  const free = await Promise.all([first, first + 1, first + 2].map((port) => isFree(port)));
  return free.every(Boolean) ? first : freePorts();
};

/** Servers of one test's own, which it may stop and start: by the scripts `up` and `down` of the folder `TEST_SERVERS`. */
export class BreakableServers {
  private constructor(
    private readonly scripts: string,
    private readonly environment: NodeJS.ProcessEnv,
    /** `KAFKA_BROKERS` and `MONGO_URL`. */
    readonly settings: Readonly<Record<string, string>>,
  ) {}

  /** @param folder where they keep their data */
  static async start(folder: string, names: readonly ServerName[]): Promise<BreakableServers> {
    const scripts = process.env['TEST_SERVERS'];
    if (!scripts) throw new Error('TEST_SERVERS names no folder');
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

  /** As a crash. */
  async kill(name: ServerName): Promise<void> {
    await run(join(this.scripts, 'down'), ['--kill', name], { env: this.environment });
  }

  /** With its data. */
  async revive(name: ServerName): Promise<void> {
    await run(join(this.scripts, 'up'), [name], { env: this.environment });
  }

  async stop(): Promise<void> {
    await run(join(this.scripts, 'down'), ['--erase'], { env: this.environment });
  }
}
