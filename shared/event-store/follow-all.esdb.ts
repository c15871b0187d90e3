import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { START, eventTypeFilter, type AllStreamSubscription, type EventStoreDBClient } from '@eventstore/db-client';
import type { Logger } from 'pino';
import { Backoff } from '../primitives/backoff.ts';
import { LogThrottle } from '../primitives/log-throttle.ts';
import { WakeUp } from '../primitives/wake-up.ts';
import { describe } from './client-errors.esdb.ts';
import type { EventBatch, EventFilter, Position, StoredEvent } from './event-store.ts';
import { toLogPosition, toPosition, toStored } from './stored-form.esdb.ts';

const BATCH_EVENTS_MAX = 1_000;
/** Events that the server searches between two checkpoints: a new subscription repeats at most this many. */
const SEARCH_WINDOW_EVENTS = 2_000;
/** How often progress past filtered events is reported: the follower stores its position each time. */
const PASSED_EVERY_MS = 50;
const CONFIRMATION_MS = 10_000;
const RECONNECT_FIRST_MS = 50;
const RECONNECT_MAX_MS = 2_000;

interface Following {
  client: EventStoreDBClient;
  after: Position;
  filter: EventFilter | undefined;
  signal: AbortSignal;
  /** Aborts when the current leader is replaced. */
  leadership: () => AbortSignal;
  logger: Logger;
}

/**
 * Yields all events after a position, without end. When the subscription fails, it subscribes again from where it was.
 * Each subscription first filters on the server, until all stored events were searched. From there on the filter runs
 * here, because only a subscription without a filter reports progress past events that the filter leaves out.
 */
export async function* followAll({
  client,
  after,
  filter,
  signal,
  leadership,
  logger,
}: Following): AsyncGenerator<EventBatch> {
  let position = after;
  const backoff = new Backoff(RECONNECT_FIRST_MS, RECONNECT_MAX_MS);
  const reported = new LogThrottle();
  while (!signal.aborted) {
    try {
      for (const isCatchUp of filter ? [true, false] : [false]) {
        const feed = new Feed(client, { after: position, filter, isCatchUp, leadership: leadership() });
        for await (const batch of feed.batches(signal)) {
          position = batch.position;
          backoff.reset();
          if (isCatchUp && batch.caughtUp) {
            if (batch.events.length > 0) yield { ...batch, caughtUp: false };
            break;
          }
          yield batch;
        }
      }
    } catch (error) {
      const message = `the subscription to the event store ended and starts again: ${describe(error)}`;
      logger[reported.isDue(message) ? 'warn' : 'debug']({ err: error, position }, message);
      await backoff.pause(signal);
    }
  }
}

interface FeedOptions {
  after: Position;
  filter: EventFilter | undefined;
  isCatchUp: boolean;
  leadership: AbortSignal;
}

/** One subscription: collects the events that arrived. The server waits while no batch is taken. */
class Feed {
  private readonly subscription: AllStreamSubscription;
  private readonly wanted: ReadonlySet<string> | undefined;
  private readonly changed = new WakeUp();
  private readonly leadership: AbortSignal;
  private position: Position;
  /** The newest checkpoint from the server. It holds once all events that arrived before it were taken. */
  private checkpoint: Position = 0;
  /** Whether the server last reported that it had nothing more; true for the reader once nothing is left to take. */
  private isLive = false;
  private failure: Error | undefined;

  constructor(client: EventStoreDBClient, { after, filter, isCatchUp, leadership }: FeedOptions) {
    this.leadership = leadership;
    this.position = after;
    this.wanted = filter && new Set(filter.types);
    this.subscription = client.subscribeToAll(
      {
        fromPosition: after === 0 ? START : toLogPosition(after),
        requiresLeader: true,
        ...(filter && isCatchUp ? { filter: this.serverFilter(filter) } : {}),
      },
      { highWaterMark: BATCH_EVENTS_MAX },
    );
    this.listen();
  }

  async *batches(signal: AbortSignal): AsyncGenerator<EventBatch> {
    const unconfirmed = setTimeout(() => {
      this.fail(new Error(`no confirmation within ${String(CONFIRMATION_MS)} ms`));
    }, CONFIRMATION_MS);
    this.subscription.on('confirmation', () => {
      clearTimeout(unconfirmed);
    });
    const deposed = () => {
      this.fail(new Error('another node is the leader'));
    };
    this.leadership.addEventListener('abort', deposed);
    let given = { position: this.position, caughtUp: false };
    let reportDueAt = 0;
    let alarm: NodeJS.Timeout | undefined;
    try {
      while (!signal.aborted) {
        const seen = this.changed.rung;
        const batch = this.take();
        const hasProgress = batch.position > given.position;
        const waitsMs = reportDueAt - performance.now();
        if (batch.events.length > 0 || batch.caughtUp !== given.caughtUp || (hasProgress && waitsMs <= 0)) {
          if (batch.events.length === 0) reportDueAt = performance.now() + PASSED_EVERY_MS;
          given = { position: batch.position, caughtUp: batch.caughtUp };
          yield batch;
        } else if (this.failure) {
          throw this.failure;
        } else {
          if (hasProgress) {
            alarm ??= setTimeout(() => {
              alarm = undefined;
              this.changed.ring();
            }, waitsMs);
          }
          await this.changed.wait(seen, signal);
        }
        // Events that still arrive in this tick of the event loop join the next batch.
        await yieldToEventLoop();
      }
    } finally {
      clearTimeout(unconfirmed);
      clearTimeout(alarm);
      this.leadership.removeEventListener('abort', deposed);
      // Rejects only with the error of the subscription, which was reported already.
      this.subscription.unsubscribe().catch(() => undefined);
    }
  }

  private take(): EventBatch {
    const events: StoredEvent[] = [];
    for (let count = 0; count < BATCH_EVENTS_MAX; count += 1) {
      const resolved = this.subscription.read() as { event?: Parameters<typeof toStored>[0] } | null;
      if (resolved === null) break;
      const { event } = resolved;
      if (!event?.position) continue;
      this.position = toPosition(event.position);
      const stored = !this.wanted || this.wanted.has(event.type) ? toStored(event) : undefined;
      if (stored) events.push(stored);
    }
    const isDrained = this.subscription.readableLength === 0;
    if (isDrained) this.position = Math.max(this.position, this.checkpoint);
    return { events, position: this.position, caughtUp: isDrained && this.isLive };
  }

  private listen(): void {
    const { subscription } = this;
    const ring = () => {
      this.changed.ring();
    };
    subscription.on('readable', ring);
    subscription.on('caughtUp', () => {
      this.isLive = true;
      ring();
    });
    subscription.on('fellBehind', () => {
      this.isLive = false;
    });
    // Stays when no batch is taken any more: an error without a listener would end the process.
    subscription.on('error', (error) => {
      this.fail(error);
    });
    subscription.on('end', () => {
      this.fail(new Error('the server ended the subscription'));
    });
  }

  private fail(error: Error): void {
    this.failure ??= error;
    this.changed.ring();
  }

  /** The server matches prefixes, so it lets a few more types through. `take` leaves those out. */
  private serverFilter({ types }: EventFilter) {
    return eventTypeFilter({
      prefixes: [...types],
      maxSearchWindow: SEARCH_WINDOW_EVENTS,
      checkpointReached: (_, position) => {
        this.checkpoint = toPosition(position);
        this.changed.ring();
      },
    });
  }
}
