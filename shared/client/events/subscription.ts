import { Backoff } from '../../primitives/waiting/backoff.ts';
import { pauseMs } from '../annals-error.ts';
import type { StreamEvent, StreamMessages, SubscribeRequest, Subscribed } from '../routes.ts';

/** How long a client waits before it tries again: each time twice as long as before, up to a maximum. */
export interface RetryPauses {
  firstMs: number;
  maxMs: number;
}
/** How long a client waits for its node. */
export interface Patience extends RetryPauses {
  /** How long the client waits for an answer to a command. */
  answerMs: number;
}
export const PATIENCE: Patience = { firstMs: 1_000, maxMs: 30_000, answerMs: 10_000 };
/**
 * After a reconnection the node repeats only events since the cursor, so this many remembered cursors detect all
 * repeats.
 */
const CURSORS_REMEMBERED = 4_096;
/** So many changes wait for a reader. Then the node is told to stop, and to go on once only few are left. */
export const CHANGES_WAITING_MAX = 512;
const CHANGES_LEFT = 64;

export type StreamState =
  /** There is no connection, because of `error` unless it is the first: the client goes on trying. */
  | { state: 'connecting'; error?: Error }
  /** `live` after the last past event. `paused` and `failed` are said of the watch; the subscription goes on. */
  | { state: 'catching_up' | 'live' | 'paused' | 'failed'; lastError?: string | null };

/** What waits for the reader, in the order of the stream. */
type Waiting =
  | { kind: 'change'; change: StreamEvent }
  | { kind: 'gap'; gap: StreamMessages['gap'] }
  /** Nothing happened up to this cursor. */
  | { kind: 'reached'; cursor: string; state?: StreamState }
  | { kind: 'state'; state: StreamState };

/** A subscription that outlives the connections over which it is received, and waits for its reader. */
export class Subscription {
  /** The newest answer; `undefined` without a connection, and while the node is told to wait. */
  answer: Subscribed | undefined;
  /** Whether the node is told to wait, because the reader does not keep up. */
  isHeld = false;
  /** Told of what comes outside the order of the stream. */
  onState: ((state: StreamState) => void) | undefined;
  /** Called when the reader has caught up with what was received. */
  onRoom: (() => void) | undefined;
  private readonly waiting: Waiting[] = [];
  private readonly seen = new Set<string>();
  /** Where to resume after a reconnection. */
  private cursor: string | undefined;
  private ended: { reason: unknown } | undefined;
  private wake: (() => void) | undefined;
  private readonly backoff: Backoff;
  private retry: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly request: SubscribeRequest,
    { firstMs, maxMs }: RetryPauses,
  ) {
    this.cursor = request.cursor;
    this.backoff = new Backoff(firstMs, maxMs);
  }

  /** A connection has one subscription for each of these. */
  get key(): string {
    const { chainId, contractAddress, eventSignature, watchId, finality = 'latest' } = this.request;
    return JSON.stringify([chainId, contractAddress.toLowerCase(), eventSignature, watchId, finality]);
  }

  /** The command that continues after the last event, or starts the subscription before the first answer. */
  get command(): SubscribeRequest {
    const { fromBlock: _, ...request } = this.request;
    return this.cursor === undefined ? this.request : { ...request, cursor: this.cursor };
  }

  accepted(answer: Subscribed): void {
    this.answer = answer;
    this.isHeld = false;
    this.backoff.reset();
    const { state } = answer;
    if (this.cursor !== undefined) {
      this.add({ kind: 'state', state: { state } });
      return;
    }
    this.cursor = answer.cursor;
    this.add({ kind: 'reached', cursor: answer.cursor, state: { state } });
  }

  /** @returns whether the reader keeps up */
  deliver(message: StreamEvent): boolean {
    const { seen, request } = this;
    if (seen.has(message.cursor)) return true;
    seen.add(message.cursor);
    const [oldest] = seen;
    if (seen.size > CURSORS_REMEMBERED && oldest !== undefined) seen.delete(oldest);
    this.cursor = message.cursor;
    // A node that resumes from a cursor does not know `fromBlock`.
    if (message.event.BlockNumber >= (request.fromBlock ?? 0)) this.add({ kind: 'change', change: message });
    return this.waiting.length < CHANGES_WAITING_MAX;
  }

  isLive({ cursor }: StreamMessages['live']): void {
    this.cursor = cursor;
    this.add({ kind: 'reached', cursor, state: { state: 'live' } });
  }

  hasGap(gap: StreamMessages['gap']): void {
    this.cursor = gap.resumeWith;
    this.add({ kind: 'gap', gap });
  }

  hasState({ state, lastError }: StreamMessages['state']): void {
    this.add({ kind: 'state', state: { state, lastError } });
  }

  isDisconnected(error: Error | undefined): void {
    this.answer = undefined;
    this.cancelRetry();
    this.onState?.({ state: 'connecting', ...(error && { error }) });
  }

  /** Tells the node to wait: what it has sent already is dropped, and comes again. */
  hold(): void {
    this.answer = undefined;
    this.isHeld = true;
  }

  /** Retries after a pause, which is never shorter than the node requests. */
  tryLater(reason: unknown, resume: () => void): void {
    this.answer = undefined;
    clearTimeout(this.retry);
    this.retry = setTimeout(resume, pauseMs(this.backoff.take(), reason));
  }

  /** To be called when the connection was replaced or lost: the retry is pointless. */
  cancelRetry(): void {
    clearTimeout(this.retry);
  }

  /** The reader gets what was received before, and then this reason. */
  end(reason: unknown): void {
    this.answer = undefined;
    this.cancelRetry();
    this.ended ??= { reason };
    this.wake?.();
  }

  /** Returns what comes next for the reader. @throws why the subscription ended, and what the signal aborts with */
  async next(signal: AbortSignal | undefined): Promise<Waiting> {
    for (;;) {
      signal?.throwIfAborted();
      const next = this.waiting.shift();
      if (next) {
        if (this.isHeld && this.waiting.length <= CHANGES_LEFT) this.onRoom?.();
        return next;
      }
      if (this.ended) throw this.ended.reason;
      await this.somethingCame(signal);
    }
  }

  private somethingCame(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        signal?.removeEventListener('abort', wake);
        this.wake = undefined;
        resolve();
      };
      this.wake = wake;
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  private add(waiting: Waiting): void {
    this.waiting.push(waiting);
    this.wake?.();
  }
}
