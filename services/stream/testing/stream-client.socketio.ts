import { io, type Socket } from 'socket.io-client';
import {
  commandRefused,
  connectionRefused,
  subscribed,
  type CommandRefused,
  type ConnectionRefused,
  type Subscribed,
} from '../../../schemas/socket/stream-commands.ts';
import {
  STREAM_NAMESPACE,
  streamMessages,
  type StreamEvent,
  type StreamMessages,
} from '../../../schemas/socket/stream-messages.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { CHAIN_ID } from './fake-catcher.ts';

type Message = { [Name in keyof StreamMessages]: { name: Name; message: StreamMessages[Name] } }[keyof StreamMessages];

interface Transport {
  pause: () => void;
  resume: () => void;
  ping: () => void;
}

/** Longer than a node on a busy machine takes to answer. */
const ANSWER_WITHIN_MS = 120_000;

/** A client on the official library. It keeps every message that it was sent, parsed by its schema. */
export class StreamClient {
  readonly messages: Message[] = [];
  private disconnected: string | undefined;
  /** Resolves with the reason when the connection has ended, also if that was while `connect` returned. */
  readonly ended: Promise<string>;

  private constructor(readonly socket: Socket) {
    for (const name of Object.keys(streamMessages) as (keyof StreamMessages)[]) {
      socket.on(name, (message: unknown) => {
        this.messages.push({ name, message: streamMessages[name].parse(message) } as Message);
      });
    }
    this.ended = new Promise((resolve) => {
      socket.on('disconnect', (reason) => {
        this.disconnected = reason;
        resolve(reason);
      });
    });
  }

  private static socket(url: string, auth: object, extraHeaders: Record<string, string> = {}): Socket {
    return io(url + STREAM_NAMESPACE, {
      transports: ['websocket'],
      auth,
      reconnection: false,
      forceNew: true,
      extraHeaders,
    });
  }

  static async connect(url: string, token: string, headers?: Record<string, string>): Promise<StreamClient> {
    const client = new StreamClient(StreamClient.socket(url, { token }, headers));
    await new Promise<void>((resolve, reject) => {
      client.socket.once('connect', resolve);
      client.socket.once('connect_error', reject);
      client.socket.io.once('close', () => {
        reject(new Error('the connection was cut before the namespace was joined'));
      });
    });
    return client;
  }

  /** Connects, which must be refused. @returns the refusal */
  static async refusal(url: string, auth: object, headers?: Record<string, string>): Promise<ConnectionRefused> {
    const client = new StreamClient(StreamClient.socket(url, auth, headers));
    const error = await new Promise<Error & { data?: unknown }>((resolve) =>
      client.socket.once('connect_error', resolve),
    );
    client.close();
    if (client.messages.length > 0) throw new Error('an event came before the refusal');
    return connectionRefused.parse(error.data);
  }

  async request(command: string, ...payload: unknown[]): Promise<unknown> {
    return this.socket.timeout(ANSWER_WITHIN_MS).emitWithAck(command, ...payload);
  }

  /** Sends any text as a Socket.IO packet, also one that the library would not send. */
  sendText(packet: string): void {
    this.socket.io.engine.write(packet);
  }

  /** Sends a command that must be refused. @returns its error */
  async refused(command: string, ...payload: unknown[]): Promise<CommandRefused['error']> {
    return commandRefused.parse(await this.request(command, ...payload)).error;
  }

  /** Subscribes, which must succeed. @returns the answer */
  async subscribe(contractAddress: string, options: object = {}): Promise<Subscribed> {
    const payload = { chainId: CHAIN_ID, contractAddress, eventSignature: 'Transfer', ...options };
    return subscribed.parse(await this.request('subscribe', payload));
  }

  get events(): StreamEvent[] {
    return this.messages.flatMap((sent) => (sent.name === 'event' ? [sent.message] : []));
  }

  /** Waits until the client has so many events. @returns all of them */
  async waitForEvents(count: number, withinMs = 20_000): Promise<StreamEvent[]> {
    await eventually(() => this.events.length >= count, withinMs, `the client must be sent ${String(count)} events`);
    return this.events;
  }

  async waitForMessage<Name extends keyof StreamMessages>(
    name: Name,
    withinMs = 20_000,
  ): Promise<StreamMessages[Name]> {
    const found = await eventually(
      () => this.messages.find((sent) => sent.name === name),
      withinMs,
      `the client must be sent "${name}"`,
    );
    return found.message as StreamMessages[Name];
  }

  /** Waits until the server ends the connection. @returns the reason that the library gives */
  waitForDisconnect(withinMs = 20_000): Promise<string> {
    return eventually(() => this.disconnected, withinMs, 'the client must be disconnected');
  }

  /** Sends a ping of the WebSocket protocol, which Socket.IO knows nothing of. */
  sendPing(): void {
    this.transport?.ping();
  }

  stopReading(): void {
    this.transport?.pause();
  }

  resumeReading(): void {
    this.transport?.resume();
  }

  /** The socket of the `ws` package, which the library has no type for; `undefined` once it is closed. */
  private get transport(): Transport | undefined {
    const { transport } = this.socket.io.engine as unknown as { transport: { ws?: Transport } };
    return transport.ws;
  }

  close(): void {
    // A socket that does not read does not notice that it is closed.
    this.resumeReading();
    this.socket.disconnect();
  }
}
