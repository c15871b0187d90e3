import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';

/** The stand-in for EventStoreDB in a process of its own, as a server is. */
export class StandInProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(): Promise<StandInProcess> {
    const where = `127.0.0.1:${String(await freePort())}`;
    const program = join(import.meta.dirname, '../../../shared/testing/event-store-server/main.js');
    const child = spawn(process.execPath, [program, where], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    return new StandInProcess(child, `esdb://${where}?tls=false`);
  }

  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    if (this.child.exitCode === null) await once(this.child, 'exit');
  }
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
};
