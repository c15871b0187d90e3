import { io, type Socket } from 'socket.io-client';

interface Delivered {
  cursor: string;
  change: 'observed' | 'reverted';
  event: { Id: string; BlockNumber: number; LogIndex: number };
}

/** A stranger's subscriber: a plain socket that keeps all it is sent. */
export class Subscriber {
  readonly delivered: Delivered[] = [];
  lives = 0;

  private constructor(readonly socket: Socket) {
    socket.on('event', (delivered: Delivered) => this.delivered.push(delivered));
    socket.on('live', () => (this.lives += 1));
  }

  /** Connects; `refused` is `connect_error.data` when the node says no. */
  static connect(
    streamUrl: string,
    token: string,
    origin?: string,
  ): Promise<{ subscriber: Subscriber; refused: unknown }> {
    const socket = io(`${streamUrl}/events`, {
      transports: ['websocket'],
      forceNew: true,
      reconnection: false,
      auth: { token },
      ...(origin === undefined ? {} : { extraHeaders: { origin } }),
    });
    const subscriber = new Subscriber(socket);
    return new Promise((resolve) => {
      socket.once('connect', () => {
        resolve({ subscriber, refused: undefined });
      });
      socket.once('connect_error', (error: Error & { data?: unknown }) => {
        resolve({ subscriber, refused: error.data });
      });
    });
  }

  async subscribe(asked: object): Promise<{ ok: boolean; state: string }> {
    return (await this.socket.timeout(10_000).emitWithAck('subscribe', asked)) as { ok: boolean; state: string };
  }

  close(): void {
    this.socket.disconnect();
  }
}

/** What stands after all changes; fails if anything is told that is no news. */
export const standingAfter = (delivered: readonly Delivered[]): string[] => {
  const standing = new Set<string>();
  for (const { change, event } of delivered) {
    if ((change === 'observed') === standing.has(event.Id)) throw new Error(`${change} ${event.Id} is no news`);
    if (change === 'observed') standing.add(event.Id);
    else standing.delete(event.Id);
  }
  return [...standing];
};
