import type { z } from 'zod';
import type { streamCommands, Subscribed } from '../../schemas/socket/stream-commands.ts';
import type { StreamEvent, StreamMessages } from '../../schemas/socket/stream-messages.ts';
import { Backoff } from '../primitives/backoff.ts';
import { StreamRefused } from './stream-refused.ts';

export const RETRY_FIRST_MS = 1_000;
export const RETRY_MAX_MS = 30_000;
/**
 * After a reconnection the node repeats only events since the cursor, so a limited number of cursors finds all repeats.
 */
const CURSORS_REMEMBERED = 4_096;

export type SubscribeRequest = z.input<(typeof streamCommands)['subscribe']['payload']>;

export interface Listener {
  /** Each event once, in order. */
  event: (event: StreamEvent) => void;
  /** Called after the last past event. Later events are new. */
  live?: () => void;
  /** Called when events between two cursors are no longer kept. */
  gap?: (gap: StreamMessages['gap']) => void;
  /** Called when the watch is paused, cannot be read, or is read again. */
  state?: (state: StreamMessages['state']) => void;
  /** Called when the subscription has ended, for a reason that does not pass by itself. */
  stopped?: (reason: StreamRefused) => void;
}

/** A subscription that outlives the connections over which it is received. */
export class OpenSubscription {
  /** The newest answer; `undefined` until the first. */
  answer: Subscribed | undefined;
  private readonly seen = new Set<string>();
  /** Where to resume after a reconnection. */
  private cursor: string | undefined;
  private readonly backoff = new Backoff(RETRY_FIRST_MS, RETRY_MAX_MS);
  private retry: NodeJS.Timeout | undefined;

  constructor(
    private readonly request: SubscribeRequest,
    private readonly listener: Listener,
    /** Settles what the caller waits for until the first answer. */
    private readonly first: { resolve: (answer: Subscribed) => void; reject: (reason: Error) => void },
  ) {}

  /** What to send to go on after the last event, and to begin before the first answer. */
  get command(): SubscribeRequest {
    return this.answer ? { ...this.request, fromBlock: undefined, cursor: this.cursor } : this.request;
  }

  accepted(answer: Subscribed): void {
    this.answer = answer;
    this.cursor ??= answer.cursor;
    this.backoff.reset();
    this.first.resolve(answer);
  }

  deliver(message: StreamEvent): void {
    const { seen, request, listener } = this;
    if (this.answer?.channel !== message.channel || seen.has(message.cursor)) return;
    seen.add(message.cursor);
    const [oldest] = seen;
    if (seen.size > CURSORS_REMEMBERED && oldest !== undefined) seen.delete(oldest);
    this.cursor = message.cursor;
    // A node that was given a cursor does not know the block.
    if (message.event.BlockNumber >= (request.fromBlock ?? 0)) listener.event(message);
  }

  isLive({ cursor }: StreamMessages['live']): void {
    this.cursor = cursor;
    this.listener.live?.();
  }

  hasGap(gap: StreamMessages['gap']): void {
    this.cursor = gap.resumeWith;
    this.listener.gap?.(gap);
  }

  hasState(state: StreamMessages['state']): void {
    this.listener.state?.(state);
  }

  /** Tries again after a pause, which is never shorter than the node asks. */
  tryLater(reason: StreamRefused, resume: () => void): void {
    clearTimeout(this.retry);
    this.retry = setTimeout(resume, pauseMs(this.backoff, reason));
  }

  /** There is no need to try again: there is a new connection, or none. */
  cancelRetry(): void {
    clearTimeout(this.retry);
  }

  /** The listener is told of a refusal only. */
  end(reason: Error): void {
    clearTimeout(this.retry);
    if (!this.answer) this.first.reject(reason);
    else if (reason instanceof StreamRefused) this.listener.stopped?.(reason);
  }
}

/** Never shorter than the service asks. */
export const pauseMs = (backoff: Backoff, reason: Error): number =>
  Math.max(backoff.take(), reason instanceof StreamRefused ? (reason.retryAfter ?? 0) * 1_000 : 0);
