import { io, type Socket } from 'socket.io-client';
import type { z } from 'zod';
import {
  commandRefused,
  connectionRefused,
  streamCommands,
  type StreamCommand,
  type Subscribed,
} from '../../schemas/socket/stream-commands.ts';
import {
  STREAM_NAMESPACE,
  streamMessages,
  type StreamEvent,
  type StreamMessages,
} from '../../schemas/socket/stream-messages.ts';

const ANSWER_MS = 10_000;
const RECONNECT_MS = 1_000;
/** Repeats come close behind each other: after a reconnection, from the cursor on. */
const CURSORS_REMEMBERED = 4_096;

type Payload<Name extends StreamCommand> = z.input<(typeof streamCommands)[Name]['payload']>;
type Answer<Name extends StreamCommand> = z.output<(typeof streamCommands)[Name]['answer']>;

export interface Listener {
  /** Each event once, in order. */
  event: (event: StreamEvent) => void;
  /** History is over; what comes now has just happened. */
  live?: () => void;
  /** Events between two cursors are no longer kept. */
  gap?: (gap: StreamMessages['gap']) => void;
  /** The subscription ended, or could not be taken up again; the code says why. */
  stopped?: (code: string) => void;
}

interface Subscription {
  asked: Payload<'subscribe'>;
  listener: Listener;
  seen: Set<string>;
  /** Where to go on after a reconnection. */
  cursor: string | undefined;
  /** The newest; `undefined` until the first. */
  answer: Subscribed | undefined;
}

/** A connection or a command that was refused; `code` is one of the interface's. */
export class StreamRefused extends Error {
  override readonly name = 'StreamRefused';
  constructor(
    readonly code: string,
    detail: string,
  ) {
    super(`${code}: ${detail}`);
  }
}

/** Events as they happen; a broken connection is taken up again where it broke. */
export class EventStream {
  private readonly socket: Socket;
  private readonly subscriptions = new Set<Subscription>();
  private reconnectMs = RECONNECT_MS;
  private reconnection: NodeJS.Timeout | undefined;

  /** @param token gives a token that is good now; asked again for every connection */
  constructor(
    streamUrl: string,
    private readonly token: () => Promise<string>,
  ) {
    this.socket = io(streamUrl + STREAM_NAMESPACE, {
      autoConnect: false,
      forceNew: true,
      transports: ['websocket'],
      auth: (give) => {
        const nothing = () => '';
        void token()
          .catch(nothing)
          .then((fresh) => {
            give({ token: fresh });
          });
      },
    });
    this.listen();
  }

  /** @throws StreamRefused when the first connection is refused */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      const refuse = (error: Error & { data?: unknown }): void => {
        const refused = connectionRefused.safeParse(error.data);
        if (!refused.success) return; // nobody answers yet: Socket.IO tries again by itself
        this.close();
        reject(new StreamRefused(refused.data.code, refused.data.title));
      };
      this.socket.on('connect_error', refuse);
      this.socket.once('connect', () => {
        this.socket.off('connect_error', refuse);
        this.socket.on('connect_error', (error: Error & { data?: unknown }) => {
          this.reconnectRefused(error.data);
        });
        resolve();
      });
      this.socket.connect();
    });
  }

  /** @throws StreamRefused */
  async subscribe(asked: Payload<'subscribe'>, listener: Listener): Promise<Subscribed> {
    const subscription: Subscription = { asked, listener, seen: new Set(), cursor: asked.cursor, answer: undefined };
    this.subscriptions.add(subscription);
    try {
      return await this.resume(subscription);
    } catch (error) {
      this.subscriptions.delete(subscription);
      throw error;
    }
  }

  close(): void {
    clearTimeout(this.reconnection);
    this.subscriptions.clear();
    this.socket.disconnect();
  }

  private resume(subscription: Subscription): Promise<Subscribed> {
    const { asked, cursor } = subscription;
    return this.command('subscribe', { ...asked, ...(cursor !== undefined && { cursor }) }, (answer) => {
      subscription.answer = answer;
      subscription.cursor ??= answer.cursor ?? undefined;
    });
  }

  /** @param atOnce runs before the next message is looked at, which a promise would not */
  private command<Name extends StreamCommand>(
    name: Name,
    payload: Payload<Name>,
    atOnce?: (answer: Answer<Name>) => void,
  ): Promise<Answer<Name>> {
    return new Promise((resolve, reject) => {
      this.socket.timeout(ANSWER_MS).emit(name, payload, (late: Error | null, given: unknown) => {
        if (late) {
          reject(new StreamRefused('dependency_unavailable', 'the node does not answer'));
          return;
        }
        const refused = commandRefused.safeParse(given);
        if (refused.success) {
          reject(new StreamRefused(refused.data.error.code, refused.data.error.detail));
          return;
        }
        const answer = streamCommands[name].answer.parse(given) as Answer<Name>;
        atOnce?.(answer);
        resolve(answer);
      });
    });
  }

  private listen(): void {
    this.socket.on('connect', () => {
      this.reconnectMs = RECONNECT_MS;
      for (const subscription of this.subscriptions) if (subscription.answer) this.takeUp(subscription);
    });
    this.socket.on('disconnect', (reason) => {
      if (reason === 'io server disconnect') this.connectIn(this.reconnectMs);
    });
    this.on('event', (message) => {
      this.deliver(message);
    });
    this.on('live', ({ subscriptionId }) => this.find(subscriptionId)?.listener.live?.());
    this.on('gap', (gap) => this.find(gap.subscriptionId)?.listener.gap?.(gap));
    this.on('stopped', ({ subscriptionId, code }) => {
      const subscription = this.find(subscriptionId);
      if (subscription) this.end(subscription, code);
    });
    this.on('draining', ({ reconnectAfterMs }) => {
      this.reconnectMs = reconnectAfterMs;
    });
    this.on('expiring', () => {
      // Where this fails the node disconnects, and a token is asked for again with the next connection.
      const failed = () => undefined;
      this.token()
        .then((token) => this.command('refresh', { token }))
        .catch(failed);
    });
  }

  private on<Name extends keyof StreamMessages>(name: Name, handle: (message: StreamMessages[Name]) => void): void {
    const listener: (message: unknown) => void = (message) => {
      handle(streamMessages[name].parse(message) as StreamMessages[Name]);
    };
    this.socket.on<string>(name, listener);
  }

  private deliver(message: StreamEvent): void {
    for (const subscription of this.subscriptions) {
      const { answer, seen, listener } = subscription;
      if (answer?.channel !== message.channel || seen.has(message.cursor)) continue;
      seen.add(message.cursor);
      const [oldest] = seen;
      if (seen.size > CURSORS_REMEMBERED && oldest !== undefined) seen.delete(oldest);
      subscription.cursor = message.cursor;
      listener.event(message);
    }
  }

  private takeUp(subscription: Subscription): void {
    this.resume(subscription).catch((error: unknown) => {
      this.end(subscription, error instanceof StreamRefused ? error.code : 'internal_error');
    });
  }

  /** Socket.IO does not try again by itself after a refusal. */
  private reconnectRefused(data: unknown): void {
    const refused = connectionRefused.safeParse(data);
    if (!refused.success) return;
    const { code, retryAfter } = refused.data;
    if (retryAfter !== undefined) this.connectIn(retryAfter * 1_000);
    else for (const subscription of this.subscriptions) this.end(subscription, code);
  }

  private connectIn(delayMs: number): void {
    this.reconnection = setTimeout(() => this.socket.connect(), delayMs);
  }

  private find(subscriptionId: string): Subscription | undefined {
    return [...this.subscriptions].find(({ answer }) => answer?.subscriptionId === subscriptionId);
  }

  private end(subscription: Subscription, code: string): void {
    this.subscriptions.delete(subscription);
    subscription.listener.stopped?.(code);
  }
}
