import { io, type Socket } from 'socket.io-client';
import { z } from 'zod';
import { streamCommands, type StreamCommand, type Subscribed } from '../../schemas/socket/stream-commands.ts';
import { STREAM_NAMESPACE, streamMessages, type StreamMessages } from '../../schemas/socket/stream-messages.ts';
import { Backoff } from '../primitives/backoff.ts';
import { safeParse } from '../primitives/safe-parse.ts';
import {
  OpenSubscription,
  pauseMs,
  RETRY_FIRST_MS,
  RETRY_MAX_MS,
  type Listener,
  type SubscribeRequest,
} from './open-subscription.ts';
import { ProblemError } from './problem-error.ts';
import { canPass, readRefusal, StreamRefused } from './stream-refused.ts';

const ANSWER_MS = 10_000;

type Payload<Name extends StreamCommand> = z.input<(typeof streamCommands)[Name]['payload']>;
type Answer<Name extends StreamCommand> = z.output<(typeof streamCommands)[Name]['answer']>;

interface CommandOutcome<Name extends StreamCommand> {
  answered: (answer: Answer<Name>) => void;
  refused: (refusal: StreamRefused) => void;
}

const refusedAnswer = z.object({ ok: z.literal(false), error: z.unknown() });

/**
 * Receives events as they happen. After a lost connection it resumes where it was. A failure that can pass ends nothing,
 * such as a node that is away, an expired token, or a failed request for one: it tries again, with growing pauses.
 */
export class EventStream {
  private readonly socket: Socket;
  private readonly subscriptions = new Set<OpenSubscription>();
  private readonly backoff = new Backoff(RETRY_FIRST_MS, RETRY_MAX_MS);
  /** When to reconnect, as a node said that is stopping. */
  private reconnectMs: number | undefined;
  private reconnection: NodeJS.Timeout | undefined;
  /** Counts the connections that were begun. */
  private connecting = 0;
  /** Settles what `open` has returned. */
  private opening: { resolve: () => void; reject: (reason: Error) => void } | undefined;
  /** Why nothing more can be subscribed. */
  private ended: Error | undefined;

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
        this.giveToken(give);
      },
    });
    this.listen();
  }

  /**
   * Waits until a node answers.
   * @throws StreamRefused when the first connection is refused, and what `token` throws at it
   */
  open(): Promise<void> {
    this.ended = undefined;
    return new Promise((resolve, reject) => {
      this.opening = { resolve, reject };
      this.socket.connect();
    });
  }

  /** Returns when the subscription is accepted. @throws StreamRefused for a reason that does not pass by itself */
  subscribe(request: SubscribeRequest, listener: Listener): Promise<Subscribed> {
    return new Promise((resolve, reject) => {
      if (this.ended) {
        reject(this.ended);
        return;
      }
      const subscription = new OpenSubscription(request, listener, { resolve, reject });
      this.subscriptions.add(subscription);
      this.resume(subscription);
    });
  }

  close(): void {
    this.end(new Error('the stream was closed'));
  }

  private giveToken(give: (credentials: object) => void): void {
    const attempt = (this.connecting += 1);
    this.token().then(
      (token) => {
        if (attempt === this.connecting) give({ token });
      },
      (error: unknown) => {
        if (attempt !== this.connecting) return;
        this.socket.disconnect();
        this.notConnected(reasonOf(error));
      },
    );
  }

  private notConnected(reason: Error): void {
    if (!this.opening && canPass(reason)) {
      this.connectIn(pauseMs(this.backoff, reason));
      return;
    }
    this.opening?.reject(reason);
    this.opening = undefined;
    this.end(reason);
  }

  private connectIn(delayMs: number): void {
    clearTimeout(this.reconnection);
    this.reconnection = setTimeout(() => this.socket.connect(), delayMs);
  }

  private end(reason: Error): void {
    this.ended = reason;
    this.connecting += 1;
    clearTimeout(this.reconnection);
    this.socket.disconnect();
    for (const subscription of this.subscriptions) this.endOne(subscription, reason);
  }

  private endOne(subscription: OpenSubscription, reason: Error): void {
    this.subscriptions.delete(subscription);
    subscription.end(reason);
  }

  private resume(subscription: OpenSubscription): void {
    subscription.cancelRetry();
    // Without a connection it is resumed by the next one.
    if (!this.socket.connected) return;
    this.command('subscribe', subscription.command, {
      answered: (answer) => {
        this.backoff.reset();
        subscription.accepted(answer);
      },
      refused: (refusal) => {
        this.resumeLaterOrEnd(subscription, refusal);
      },
    });
  }

  private resumeLaterOrEnd(subscription: OpenSubscription, reason: StreamRefused): void {
    if (!canPass(reason)) this.endOne(subscription, reason);
    else
      subscription.tryLater(reason, () => {
        this.resume(subscription);
      });
  }

  /** Either outcome is handled before the next message; a `then` of a promise would run later. */
  private command<Name extends StreamCommand>(
    name: Name,
    payload: Payload<Name>,
    { answered, refused }: CommandOutcome<Name>,
  ): void {
    this.socket.timeout(ANSWER_MS).emit(name, payload, (late: Error | null, given: unknown) => {
      if (late) {
        this.leaveLateNode();
        return;
      }
      const refusal = safeParse(refusedAnswer, given);
      if (refusal.success) refused(readRefusal(refusal.data.error) ?? new StreamRefused('internal_error', 'no reason'));
      else answered(streamCommands[name].answer.parse(given) as Answer<Name>);
    });
  }

  /** Nobody would know what an answer that comes later is to: the next connection resumes everything. */
  private leaveLateNode(): void {
    if (!this.socket.connected) return;
    this.socket.disconnect();
    this.connectIn(this.backoff.take());
  }

  private listen(): void {
    this.socket.on('connect', () => {
      this.opening?.resolve();
      this.opening = undefined;
      for (const subscription of this.subscriptions) this.resume(subscription);
    });
    this.socket.on('connect_error', (error: Error & { data?: unknown }) => {
      // Where no node answers, Socket.IO tries again by itself.
      if (!this.socket.active) this.notConnected(readRefusal(error.data) ?? error);
    });
    this.socket.on('disconnect', (reason) => {
      if (reason !== 'io server disconnect') return;
      this.connectIn(this.reconnectMs ?? this.backoff.take());
      this.reconnectMs = undefined;
    });
    this.on('event', (message) => {
      for (const subscription of this.subscriptions) subscription.deliver(message);
    });
    this.on('live', (live) => this.find(live)?.isLive(live));
    this.on('gap', (gap) => this.find(gap)?.hasGap(gap));
    this.on('state', (state) => this.find(state)?.hasState(state));
    this.on('stopped', ({ subscriptionId, code }) => {
      const subscription = this.find({ subscriptionId });
      if (subscription) this.resumeLaterOrEnd(subscription, new StreamRefused(code, 'the node ended the subscription'));
    });
    this.on('draining', ({ reconnectAfterMs }) => {
      this.reconnectMs = reconnectAfterMs;
    });
    this.on('expiring', () => {
      // When this fails the node disconnects, and the next connection requests a token again.
      const nothing = () => undefined;
      this.token().then((token) => {
        if (this.socket.connected) this.command('refresh', { token }, { answered: nothing, refused: nothing });
      }, nothing);
    });
  }

  private on<Name extends keyof StreamMessages>(name: Name, handle: (message: StreamMessages[Name]) => void): void {
    const listener: (message: unknown) => void = (message) => {
      handle(streamMessages[name].parse(message) as StreamMessages[Name]);
    };
    this.socket.on<string>(name, listener);
  }

  private find(message: { subscriptionId: string }): OpenSubscription | undefined {
    return [...this.subscriptions].find(({ answer }) => answer?.subscriptionId === message.subscriptionId);
  }
}

/** What `token` has thrown, as a refusal where a service refused. */
const reasonOf = (error: unknown): Error => {
  const refusal = error instanceof ProblemError ? readRefusal(error.problem) : undefined;
  return refusal ?? (error instanceof Error ? error : new Error(String(error)));
};
