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
import { CHAIN_ID } from './catcher-stand-in.ts';

type Message = { [Name in keyof StreamMessages]: { name: Name; message: StreamMessages[Name] } }[keyof StreamMessages];

interface Pausable {
  pause: () => void;
  resume: () => void;
}

/** A client as the interface describes it, on the official library. Remembers all it was sent, checked by its schema. */
export class StreamClient {
  readonly messages: Message[] = [];
  private disconnected: string | undefined;

  private constructor(readonly socket: Socket) {
    for (const name of Object.keys(streamMessages) as (keyof StreamMessages)[]) {
      socket.on(name, (message: unknown) => {
        this.messages.push({ name, message: streamMessages[name].parse(message) } as Message);
      });
    }
    socket.on('disconnect', (reason) => {
      this.disconnected = reason;
    });
  }

  private static socket(url: string, auth: object, origin?: string): Socket {
    return io(url + STREAM_NAMESPACE, {
      transports: ['websocket'],
      auth,
      reconnection: false,
      forceNew: true,
      ...(origin !== undefined && { extraHeaders: { origin } }),
    });
  }

  static async connect(url: string, token: string): Promise<StreamClient> {
    const client = new StreamClient(StreamClient.socket(url, { token }));
    await new Promise<void>((resolve, reject) => {
      client.socket.once('connect', resolve);
      client.socket.once('connect_error', reject);
    });
    return client;
  }

  /** What a connection that must be refused is told. */
  static async refusal(url: string, auth: object, origin?: string): Promise<ConnectionRefused> {
    const client = new StreamClient(StreamClient.socket(url, auth, origin));
    const error = await new Promise<Error & { data?: unknown }>((resolve) =>
      client.socket.once('connect_error', resolve),
    );
    client.close();
    if (client.messages.length > 0) throw new Error('an event came before the refusal');
    return connectionRefused.parse(error.data);
  }

  async ask(command: string, ...payload: unknown[]): Promise<unknown> {
    return this.socket.timeout(20_000).emitWithAck(command, ...payload);
  }

  /** Sends a Socket.IO packet as it is: what the library would not make. */
  sendText(packet: string): void {
    this.socket.io.engine.write(packet);
  }

  /** The error of a command that must be refused. */
  async refused(command: string, ...payload: unknown[]): Promise<CommandRefused['error']> {
    return commandRefused.parse(await this.ask(command, ...payload)).error;
  }

  /** @returns the answer, which must be yes */
  async subscribe(contractAddress: string, options: object = {}): Promise<Subscribed> {
    const payload = { chainId: CHAIN_ID, contractAddress, eventSignature: 'Transfer', ...options };
    return subscribed.parse(await this.ask('subscribe', payload));
  }

  get events(): StreamEvent[] {
    return this.messages.flatMap((sent) => (sent.name === 'event' ? [sent.message] : []));
  }

  /** Waits for so many events. */
  async eventsUntil(count: number, withinMs = 20_000): Promise<StreamEvent[]> {
    await eventually(() => this.events.length >= count, withinMs, `${String(count)} events must come`);
    return this.events;
  }

  async message<Name extends keyof StreamMessages>(name: Name, withinMs = 20_000): Promise<StreamMessages[Name]> {
    const found = await eventually(
      () => this.messages.find((sent) => sent.name === name),
      withinMs,
      `the client must be sent "${name}"`,
    );
    return found.message as StreamMessages[Name];
  }

  /** Waits for the server to end the connection. @returns the reason that the library gives */
  disconnection(withinMs = 20_000): Promise<string> {
    return eventually(() => this.disconnected, withinMs, 'the client must be disconnected');
  }

  stopReading(): void {
    this.transport?.pause();
  }

  readOn(): void {
    this.transport?.resume();
  }

  /** Of the `ws` package, which the library shows to nobody; none once it is closed. */
  private get transport(): Pausable | undefined {
    const { transport } = this.socket.io.engine as unknown as { transport: { ws?: Pausable } };
    return transport.ws;
  }

  close(): void {
    // A socket that is not read does not notice that it is closed either.
    this.readOn();
    this.socket.disconnect();
  }
}
