import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A way to a server on this machine on which what a client sends can be kept back for a while. */
export class HeldLink {
  private readonly sockets = new Set<Socket>();
  /** In the order in which they were sent; absent while nothing is kept back. */
  private kept: { to: Socket; bytes: Buffer }[] | undefined;
  private answered = 0;

  private constructor(
    private readonly server: Server,
    private readonly target: number,
  ) {
    server.on('connection', (client) => {
      this.join(client);
    });
  }

  static async open(target: number): Promise<HeldLink> {
    const server = createServer({ noDelay: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new HeldLink(server, target);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  hold(): void {
    this.kept ??= [];
  }

  get keptBytes(): number {
    return (this.kept ?? []).reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** Since what was kept back was let go. */
  get answeredBytes(): number {
    return this.answered;
  }

  letGo(): void {
    const { kept = [] } = this;
    this.kept = undefined;
    this.answered = 0;
    for (const { to, bytes } of kept) to.write(bytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private join(client: Socket): void {
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
      if (this.kept) this.kept.push({ to: server, bytes });
      else server.write(bytes);
    });
    server.on('data', (bytes: Buffer) => {
      this.answered += bytes.length;
      client.write(bytes);
    });
  }
}
