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
/**
 * After a reconnection the node repeats only events since the cursor, so a limited number of cursors finds all repeats.
 */
const CURSORS_REMEMBERED = 4_096;

type Payload<Name extends StreamCommand> = z.input<(typeof streamCommands)[Name]['payload']>;
type Answer<Name extends StreamCommand> = z.output<(typeof streamCommands)[Name]['answer']>;

export interface Listener {
  /** Each event once, in order. */
  event: (event: StreamEvent) => void;
  /** Called after the last past event. Later events are new. */
  live?: () => void;
  /** Called when events between two cursors are no longer kept. */
  gap?: (gap: StreamMessages['gap']) => void;
  /** Called when the subscription ended, or could not be resumed. The code is the reason. */
  stopped?: (code: string) => void;
}

interface OpenSubscription {
  request: Payload<'subscribe'>;
  listener: Listener;
  seen: Set<string>;
  /** Where to resume after a reconnection. */
  cursor: string | undefined;
  /** The newest answer; `undefined` until the first. */
  answer: Subscribed | undefined;
}

/** A connection or a command was refused; `code` is one of the interface's. */
export class StreamRefused extends Error {
  override readonly name = 'StreamRefused';
  constructor(
    readonly code: string,
    detail: string,
  ) {
    super(`${code}: ${detail}`);
  }
}

/** Receives events as they happen. After a lost connection it resumes where it was. */
export class EventStream {
  private readonly socket: Socket;
  private readonly subscriptions = new Set<OpenSubscription>();
  private reconnectMs = RECONNECT_MS;
  private reconnection: NodeJS.Timeout | undefined;

  /** @param token returns a valid token; called for every connection */
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
        if (!refused.success) return; // no node answered yet, and Socket.IO retries by itself
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
  async subscribe(request: Payload<'subscribe'>, listener: Listener): Promise<Subscribed> {
    const subscription: OpenSubscription = {
      request,
      listener,
      seen: new Set(),
      cursor: request.cursor,
      answer: undefined,
    };
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

  private resume(subscription: OpenSubscription): Promise<Subscribed> {
    const { request, cursor } = subscription;
    return this.command('subscribe', { ...request, ...(cursor !== undefined && { cursor }) }, (answer) => {
      subscription.answer = answer;
      subscription.cursor ??= answer.cursor ?? undefined;
    });
  }

  /** @param atOnce runs before the next message is handled; a `then` of the promise would run later */
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
      for (const subscription of this.subscriptions) if (subscription.answer) this.resumeOrEnd(subscription);
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
      // When this fails the node disconnects, and the next connection requests a token again.
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

  private resumeOrEnd(subscription: OpenSubscription): void {
    this.resume(subscription).catch((error: unknown) => {
      this.end(subscription, error instanceof StreamRefused ? error.code : 'internal_error');
    });
  }

  /** Reconnects after a refusal, which Socket.IO does not do by itself. */
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

  private find(subscriptionId: string): OpenSubscription | undefined {
    return [...this.subscriptions].find(({ answer }) => answer?.subscriptionId === subscriptionId);
  }

  private end(subscription: OpenSubscription, code: string): void {
    this.subscriptions.delete(subscription);
    subscription.listener.stopped?.(code);
  }
}
