import { io, type Socket } from 'socket.io-client';

interface Delivered {
  cursor: string;
  change: 'observed' | 'reverted';
  event: { Id: string; BlockNumber: number; LogIndex: number };
}

/** Longer than a node on a busy machine takes to answer. */
const ANSWER_WITHIN_MS = 120_000;

/** A subscriber on a plain socket, without the project's client, that keeps every event it receives. */
export class Subscriber {
  readonly delivered: Delivered[] = [];
  /** How many times it received the message `live`. */
  liveCount = 0;

  private constructor(readonly socket: Socket) {
    socket.on('event', (delivered: Delivered) => this.delivered.push(delivered));
    socket.on('live', () => (this.liveCount += 1));
  }

  /** Connects; `refused` is `connect_error.data` if the connection is refused. */
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

  async subscribe(request: object): Promise<{ ok: boolean; state: string }> {
    return (await this.socket.timeout(ANSWER_WITHIN_MS).emitWithAck('subscribe', request)) as {
      ok: boolean;
      state: string;
    };
  }

  async unsubscribe(subscriptionId: string): Promise<void> {
    await this.socket.timeout(ANSWER_WITHIN_MS).emitWithAck('unsubscribe', { subscriptionId });
  }

  close(): void {
    this.socket.disconnect();
  }
}

/** The ids of the events that are canonical after these changes. @throws if a change repeats the state of its event */
export const canonicalIds = (delivered: readonly Delivered[]): string[] => {
  const canonical = new Set<string>();
  for (const { change, event } of delivered) {
    if ((change === 'observed') === canonical.has(event.Id)) throw new Error(`${change} ${event.Id} changes nothing`);
    if (change === 'observed') canonical.add(event.Id);
    else canonical.delete(event.Id);
  }
  return [...canonical];
};
