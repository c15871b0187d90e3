import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP proxy to a server on this machine that can hold back what clients send. */
export class PausableProxy {
  private readonly sockets = new Set<Socket>();
  /** In the order of sending; absent while nothing is held back. */
  private held: { to: Socket; bytes: Buffer }[] | undefined;
  private answered = 0;

  private constructor(
    private readonly server: Server,
    private readonly target: number,
  ) {
    server.on('connection', (client) => {
      this.forward(client);
    });
  }

  static async open(target: number): Promise<PausableProxy> {
    const server = createServer({ noDelay: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new PausableProxy(server, target);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  pause(): void {
    this.held ??= [];
  }

  get heldBytes(): number {
    return (this.held ?? []).reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** How many bytes the server has sent since `resume`. */
  get answeredBytes(): number {
    return this.answered;
  }

  resume(): void {
    const { held = [] } = this;
    this.held = undefined;
    this.answered = 0;
    for (const { to, bytes } of held) to.write(bytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private forward(client: Socket): void {
    const server = connect({ host: '127.0.0.1', port: this.target, noDelay: true });
    const end = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    client.on('data', (bytes: Buffer) => {
      if (this.held) this.held.push({ to: server, bytes });
      else server.write(bytes);
    });
    server.on('data', (bytes: Buffer) => {
      this.answered += bytes.length;
      client.write(bytes);
    });
  }
}
