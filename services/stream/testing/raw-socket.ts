import { STREAM_NAMESPACE } from '../../../schemas/socket/stream-messages.ts';
import { eventually } from '../../../shared/testing/eventually.ts';

/** A WebSocket that sends any text, and takes what comes: a client that keeps to no protocol. */
export class RawSocket {
  readonly received: string[] = [];
  private closed: { code: number; reason: string } | undefined;

  private constructor(private readonly socket: WebSocket) {
    socket.addEventListener('message', ({ data }) => this.received.push(String(data)));
    socket.addEventListener('close', ({ code, reason }) => {
      this.closed = { code, reason };
    });
  }

  /** @throws when the upgrade is refused */
  static async open(url: string): Promise<RawSocket> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`);
    const raw = new RawSocket(socket);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => {
        resolve();
      });
      socket.addEventListener('error', () => {
        reject(new Error('the upgrade was refused'));
      });
    });
    return raw;
  }

  /** Connects with a token, and returns when the server has answered. */
  static async connected(url: string, token: string): Promise<RawSocket> {
    const raw = await RawSocket.open(url);
    raw.send(connectPacket(token));
    await eventually(() => raw.received.some((text) => text.startsWith('40')), 5_000, 'the client must be connected');
    return raw;
  }

  send(text: string | Uint8Array<ArrayBuffer>): void {
    this.socket.send(text);
  }

  /** Waits until the server closes. */
  waitForClose(withinMs = 10_000): Promise<{ code: number; reason: string }> {
    return eventually(() => this.closed, withinMs, 'the socket must be closed');
  }

  close(): void {
    this.socket.close();
  }
}

export const connectPacket = (token: string, namespace = STREAM_NAMESPACE): string =>
  `40${namespace},${JSON.stringify({ token })}`;
