import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** An address that stays the same while the node behind it starts again, and that can cut all connections. */
export class CuttingProxy {
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  /** @param target returns the URL of the node */
  static async start(target: () => string): Promise<CuttingProxy> {
    const server = createServer();
    const proxy = new CuttingProxy(server);
    server.on('connection', (client) => {
      const node = connect(Number(new URL(target()).port), '127.0.0.1');
      for (const socket of [client, node]) {
        proxy.sockets.add(socket);
        // A cut connection is what the proxy is for.
        socket.on('error', () => undefined);
        socket.on('close', () => {
          proxy.sockets.delete(socket);
          client.destroy();
          node.destroy();
        });
      }
      client.pipe(node).pipe(client);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.server.close();
    this.cut();
    await once(this.server, 'close');
  }
}
