import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import type { ISocketFactory } from 'kafkajs';

const KEEP_ALIVE_AFTER_MS = 60_000;

/**
 * The connections of one kafkajs client. kafkajs goes on trying after its caller has given up, and waits for answers that
 * never come when it is to disconnect; once cut, a client can neither reach a broker nor hold a socket.
 */
export class Connections {
  private readonly sockets = new Set<Socket>();
  private isCut = false;

  constructor(private readonly tls: ConnectionOptions | undefined) {}

  readonly open: ISocketFactory = ({ host, port, onConnect }) => {
    if (this.isCut) throw new Error('this client was given up');
    const socket = this.tls
      ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }), ...this.tls }, onConnect)
      : connect({ host, port }, onConnect);
    socket.setKeepAlive(true, KEEP_ALIVE_AFTER_MS);
    socket.setNoDelay(true);
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    return socket;
  };

  /** What still waits for an answer fails at once. */
  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy(new Error('this client was given up'));
  }
}
