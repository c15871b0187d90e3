import { io, type Socket } from 'socket.io-client';
import { Backoff } from '../../primitives/waiting/backoff.ts';
import { AnnalsError, canPass, errorOf, pauseMs, readRefusal } from '../annals-error.ts';
import type { StreamMessages, Subscribed } from '../routes.ts';
import type { StreamNodes } from './stream-nodes.ts';
import type { Patience, Subscription } from './subscription.ts';

const NAMESPACE = '/events';
const SERVER_ERROR = 500;
/** A node that refuses as often in a row to serve subscriptions is left for another one. */
const REFUSALS_MAX = 3;
/** Longer than a node takes to verify a token. */
const CONNECTED_WITHIN_MS = 30_000;

/** Returns a token, another one than that which was refused or expires soon. */
export type GiveToken = (refused: string | undefined) => Promise<string>;

type Listen = <Name extends keyof StreamMessages>(name: Name, handle: (message: StreamMessages[Name]) => void) => void;

interface CommandOutcome {
  answered: (answer: unknown) => void;
  refused: (refusal: AnnalsError) => void;
}

/**
 * Receives the events of subscriptions, and resumes them after a lost connection. A failure that can pass, such as a node that is
 * down, an expired token or a failed request for one, ends nothing: the connection is tried again with growing pauses.
 */
export class StreamConnection {
  private socket: Socket | undefined;
  private url: string | undefined;
  /** Nodes that failed or are stopping, since one has served a subscription. */
  private readonly failed = new Set<string>();
  private readonly subscriptions = new Set<Subscription>();
  private readonly backoff: Backoff;
  private readonly answerMs: number;
  /** When to reconnect, according to a node that is stopping. */
  private reconnectMs: number | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Number of connection attempts. */
  private attempt = 0;
  private token: string | undefined;
  private refusedToken: string | undefined;
  /** How often this node could not serve a subscription since it served one. */
  private refusals = 0;

  constructor(
    readonly nodes: StreamNodes,
    private readonly giveToken: GiveToken,
    /** Takes a subscription to a channel that this connection has already, under another name of the event. */
    private readonly elsewhere: (subscription: Subscription) => void,
    { firstMs, maxMs, answerMs }: Patience,
  ) {
    this.backoff = new Backoff(firstMs, maxMs);
    this.answerMs = answerMs;
  }

  get size(): number {
    return this.subscriptions.size;
  }

  has(key: string): boolean {
    return [...this.subscriptions].some((subscription) => subscription.key === key);
  }

  add(subscription: Subscription): void {
    const isFirst = this.size === 0;
    this.subscriptions.add(subscription);
    subscription.onRoom = () => {
      this.resume(subscription);
    };
    if (this.socket?.connected) this.resume(subscription);
    else subscription.isDisconnected(undefined);
    if (isFirst) void this.connect();
  }

  /** Tells the node that nobody reads a subscription any more; the last one closes the connection. */
  remove(subscription: Subscription): void {
    this.unsubscribe(subscription);
    subscription.end(new AnnalsError('subscription_not_found', 'the subscription was ended here'));
    this.leave(subscription);
  }

  private async connect(): Promise<void> {
    const attempt = (this.attempt += 1);
    clearTimeout(this.timer);
    try {
      const token = await this.giveToken(this.refusedToken);
      const url = await this.nodes.url(this.failed);
      if (attempt !== this.attempt) return;
      this.token = token;
      this.refusedToken = undefined;
      // All have failed: another round begins.
      if (this.failed.has(url)) this.failed.clear();
      this.timer = setTimeout(() => {
        this.nodeFailed(new AnnalsError('network_error', 'the node did not let this client in or refuse it in time'));
      }, CONNECTED_WITHIN_MS);
      this.socketAt(url).connect();
    } catch (error) {
      if (attempt === this.attempt) this.notConnected(error);
    }
  }

  private disconnect(): void {
    this.attempt += 1;
    clearTimeout(this.timer);
    this.socket?.disconnect();
  }

  private socketAt(url: string): Socket {
    if (this.socket && url === this.url) return this.socket;
    this.socket?.off();
    this.url = url;
    this.socket = io(url.replace(/\/$/, '') + NAMESPACE, {
      autoConnect: false,
      forceNew: true,
      // This class reconnects: each attempt has its own token, perhaps another node.
      reconnection: false,
      transports: ['websocket'],
      auth: (give) => {
        give({ token: this.token });
      },
    });
    this.listen(this.socket, url);
    return this.socket;
  }

  /** Tries other nodes first. */
  private nodeFailed(reason: AnnalsError): void {
    if (this.url !== undefined) this.failed.add(this.url);
    this.notConnected(reason);
  }

  private notConnected(reason: unknown): void {
    this.disconnect();
    if (canPass(reason)) {
      if (reason instanceof AnnalsError && reason.code.startsWith('token_')) this.refusedToken = this.token;
      for (const subscription of this.subscriptions) subscription.isDisconnected(errorOf(reason));
      this.connectIn(pauseMs(this.backoff.take(), reason));
      return;
    }
    for (const subscription of this.subscriptions) this.end(subscription, reason);
  }

  private connectIn(delayMs: number): void {
    clearTimeout(this.timer);
    if (this.size > 0) this.timer = setTimeout(() => void this.connect(), delayMs);
  }

  private end(subscription: Subscription, reason: unknown): void {
    subscription.end(reason);
    this.leave(subscription);
  }

  private leave(subscription: Subscription): void {
    this.subscriptions.delete(subscription);
    if (this.size === 0) this.disconnect();
  }

  private resume(subscription: Subscription): void {
    subscription.cancelRetry();
    subscription.isHeld = false;
    // Without a connection, the next one resumes the subscription.
    if (!this.socket?.connected) return;
    this.command('subscribe', subscription.command, {
      answered: (answer) => {
        if (!this.subscriptions.has(subscription)) {
          this.command('unsubscribe', { subscriptionId: (answer as Subscribed).subscriptionId }, ignored);
          return;
        }
        this.backoff.reset();
        this.refusals = 0;
        this.failed.clear();
        subscription.accepted(answer as Subscribed);
      },
      refused: (refusal) => {
        this.resumeLaterOrEnd(subscription, refusal);
      },
    });
  }

  private resumeLaterOrEnd(subscription: Subscription, reason: AnnalsError): void {
    if (!this.subscriptions.has(subscription)) return;
    if (reason.code === 'already_subscribed') {
      this.leave(subscription);
      this.elsewhere(subscription);
    } else if (reason.status >= SERVER_ERROR && (this.refusals += 1) > REFUSALS_MAX) {
      this.refusals = 0;
      this.nodeFailed(reason);
    } else if (canPass(reason)) {
      subscription.tryLater(reason, () => {
        this.resume(subscription);
      });
    } else this.end(subscription, reason);
  }

  private unsubscribe({ answer }: Subscription): void {
    if (answer && this.socket?.connected)
      this.command('unsubscribe', { subscriptionId: answer.subscriptionId }, ignored);
  }

  /** Handles either outcome before the next message; a `then` of a promise would run later. */
  private command(name: string, payload: object, { answered, refused }: CommandOutcome): void {
    const { attempt } = this;
    this.socket?.timeout(this.answerMs).emit(name, payload, (late: Error | null, given: unknown) => {
      if (attempt !== this.attempt) return;
      const { ok, error } = (given ?? {}) as { ok?: boolean; error?: unknown };
      // A later answer could not be assigned to its command, so the next connection resumes everything.
      if (late) this.nodeFailed(new AnnalsError('network_error', `the node did not answer ${name}`));
      else if (ok === true) answered(given);
      else
        refused(readRefusal(error) ?? new AnnalsError('internal_error', `the node refused ${name} without a reason`));
    });
  }

  private listen(socket: Socket, url: string): void {
    socket.on('connect', () => {
      clearTimeout(this.timer);
      for (const subscription of this.subscriptions) if (!subscription.isHeld) this.resume(subscription);
    });
    socket.on('connect_error', (error: Error & { data?: unknown }) => {
      const refusal = readRefusal(error.data);
      if (refusal && refusal.status < SERVER_ERROR) this.notConnected(refusal);
      else this.nodeFailed(refusal ?? new AnnalsError('network_error', error.message, { cause: error }));
    });
    socket.on('disconnect', (reason) => {
      if (reason === 'io client disconnect') return;
      // The node is stopping. Any other loss says nothing about the node.
      if (this.reconnectMs !== undefined) this.failed.add(url);
      const waitMs = this.reconnectMs ?? this.backoff.take();
      this.reconnectMs = undefined;
      this.disconnect();
      const error = new AnnalsError('network_error', `the connection was lost: ${reason}`);
      for (const subscription of this.subscriptions) subscription.isDisconnected(error);
      this.connectIn(waitMs);
    });
    this.listenToMessages((name, handle) => {
      const listener: (message: StreamMessages[typeof name]) => void = handle;
      socket.on<string>(name, listener);
    });
  }

  private listenToMessages(on: Listen): void {
    on('event', (message) => {
      for (const subscription of this.subscriptions) {
        if (subscription.answer?.channel !== message.channel || subscription.deliver(message)) continue;
        this.unsubscribe(subscription);
        subscription.hold();
      }
    });
    on('live', (live) => this.find(live)?.isLive(live));
    on('gap', (gap) => this.find(gap)?.hasGap(gap));
    on('state', (state) => this.find(state)?.hasState(state));
    on('stopped', ({ subscriptionId, code }) => {
      const subscription = this.find({ subscriptionId });
      if (subscription) this.resumeLaterOrEnd(subscription, new AnnalsError(code, 'the node ended the subscription'));
    });
    on('draining', ({ reconnectAfterMs }) => {
      this.reconnectMs = reconnectAfterMs;
    });
    on('expiring', () => void this.refresh());
  }

  /** If this fails the node disconnects, and the next connection requests a token again. */
  private async refresh(): Promise<void> {
    const { attempt } = this;
    try {
      const token = await this.giveToken(this.token);
      if (attempt !== this.attempt || !this.socket?.connected) return;
      this.command('refresh', { token }, { ...ignored, answered: () => (this.token = token) });
    } catch (error) {
      if (attempt === this.attempt && !canPass(error)) this.notConnected(error);
    }
  }

  private find({ subscriptionId }: { subscriptionId: string }): Subscription | undefined {
    return [...this.subscriptions].find(({ answer }) => answer?.subscriptionId === subscriptionId);
  }
}

const ignored: CommandOutcome = { answered: () => undefined, refused: () => undefined };
