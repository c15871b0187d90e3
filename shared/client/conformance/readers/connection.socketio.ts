import { io, type Socket } from 'socket.io-client';
import { isObject, type Json } from '../json-value.ts';
import { newestCursor, stateOf, type Message, type Reader } from './reader.ts';

interface ConnectOptions {
  streamUrl: string;
  token: string | undefined;
  origin: string | undefined;
  withinMs: number;
}

/** A socket of the stream that keeps all that it is sent. */
export class Connection {
  readonly messages: Message[] = [];
  private ended: string | undefined;

  private constructor(
    private readonly socket: Socket,
    private readonly withinMs: number,
  ) {
    socket.onAny((name: string, payload: Json) => this.messages.push({ name, payload }));
    socket.on('disconnect', (reason) => {
      this.ended ??= reason;
    });
  }

  /** Returns the connection, and `connect_error.data` if it was refused. @throws Error if no node answers */
  static async open({
    streamUrl,
    token,
    origin,
    withinMs,
  }: ConnectOptions): Promise<{ connection: Connection; refused: Json | undefined }> {
    const socket = io(`${streamUrl}/events`, {
      ...{ transports: ['websocket'], forceNew: true, reconnection: false, timeout: withinMs },
      auth: token === undefined ? {} : { token },
      ...(origin !== undefined && { extraHeaders: { origin } }),
    });
    const connection = new Connection(socket, withinMs);
    const refused = await new Promise<Json | undefined>((resolve, reject) => {
      socket.once('connect', () => {
        resolve(undefined);
      });
      socket.once('connect_error', (error: Error & { data?: Json }) => {
        if (error.data === undefined) reject(new Error(`${streamUrl} does not answer a socket: ${error.message}`));
        else resolve(error.data);
      });
    });
    return { connection, refused };
  }

  /** Returns the acknowledgement; `{disconnected}` if the node ended the connection instead. */
  command(name: string, payload: Json): Promise<Json> {
    // The library would keep the command for a connection that never comes.
    if (this.ended !== undefined) return Promise.resolve({ disconnected: this.ended });
    const { promise, resolve } = Promise.withResolvers<Json>();
    const end = (reason: string): void => {
      resolve({ disconnected: reason });
    };
    this.socket.once('disconnect', end);
    this.socket.timeout(this.withinMs).emit(name, payload, (late: Error | null, answer: Json) => {
      this.socket.off('disconnect', end);
      resolve(late ? { unanswered: true } : answer);
    });
    return promise;
  }

  /** Returns what the connection receives for a subscription. */
  subscription(answer: Json): Reader {
    const of = (name: string): Json | undefined => (isObject(answer) ? answer[name] : undefined);
    const isOwn = ({ name, payload }: Message): boolean => {
      if (!isObject(payload)) return true;
      return name === 'event'
        ? payload['channel'] === of('channel')
        : payload['subscriptionId'] === of('subscriptionId');
    };
    const messages = (): Message[] => this.messages.filter(isOwn);
    const ended = () => this.ended;
    return {
      get messages() {
        return messages();
      },
      get ended() {
        return ended();
      },
      state: () => stateOf(messages(), { answer, cursor: newestCursor(messages()) ?? of('cursor') ?? null }),
      close: () => {
        this.close();
      },
    };
  }

  close(): void {
    this.ended ??= 'closed';
    this.socket.disconnect();
  }
}
