import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import type { ISocketFactory } from 'kafkajs';

const KEEP_ALIVE_AFTER_MS = 60_000;

/**
 * The sockets of one kafkajs client. kafkajs keeps retrying after its caller has given up, and on disconnect it waits
 * for answers that never come. After `cut`, the client can neither reach a broker nor keep a socket open.
 */
export class ClientSockets {
  private readonly sockets = new Set<Socket>();
  private isCut = false;

  constructor(private readonly tls: ConnectionOptions | undefined) {}

  readonly open: ISocketFactory = ({ host, port, onConnect }) => {
    if (this.isCut) throw new Error('this client was closed');
    const socket = this.tls
      ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }), ...this.tls }, onConnect)
      : connect({ host, port }, onConnect);
    socket.setKeepAlive(true, KEEP_ALIVE_AFTER_MS);
    socket.setNoDelay(true);
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    return socket;
  };

  /** Whether any socket is open. */
  get isAny(): boolean {
    return this.sockets.size > 0;
  }

  /** Destroys all sockets, so that pending requests fail at once. */
  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy(new Error('this client was closed'));
  }
}
