import { START, eventTypeFilter, type AllStreamSubscription, type EventStoreDBClient } from '@eventstore/db-client';
import { WakeUp } from '../../../primitives/waiting/wake-up.ts';
import { BatchSize } from '../../batch-size.ts';
import type { EventFilter, Position, StoredEvent } from '../../event-store.ts';
import { toLogPosition, toPosition, toStored } from '../stored-form.esdb.ts';

/** Maximum events of one batch. */
export const BATCH_EVENTS_MAX = 1_000;
/** Events that the server searches between two checkpoints. A new subscription repeats at most this many. */
const SEARCH_WINDOW_EVENTS = 2_000;
const CONFIRMATION_MS = 10_000;

interface SubscriptionOptions {
  client: EventStoreDBClient;
  after: Position;
  /** Filter that the server applies. */
  filter?: EventFilter | undefined;
  /** Aborts when the current leader is replaced. */
  leadership: AbortSignal;
}

/** One subscription to `$all`: buffers the events that arrive. The server pauses while none is taken (backpressure). */
export class AllSubscription {
  /** Rings when there may be events to take. */
  readonly changed = new WakeUp();
  private readonly subscription: AllStreamSubscription;
  private readonly leadership: AbortSignal;
  private readonly unconfirmed: NodeJS.Timeout;
  private position: Position;
  /** The newest checkpoint of the server, which may be the end of the log, and the one before it, which is not. */
  private checkpoint: Position = 0;
  private passed: Position = 0;
  private liveReported = false;
  private failure: Error | undefined;

  constructor({ client, after, filter, leadership }: SubscriptionOptions) {
    this.position = after;
    this.leadership = leadership;
    this.subscription = client.subscribeToAll(
      {
        fromPosition: after === 0 ? START : toLogPosition(after),
        requiresLeader: true,
        ...(filter && { filter: this.serverFilter(filter) }),
      },
      { highWaterMark: BATCH_EVENTS_MAX },
    );
    this.unconfirmed = setTimeout(() => {
      this.fail(new Error(`no confirmation within ${String(CONFIRMATION_MS)} ms`));
    }, CONFIRMATION_MS);
    this.listen();
  }

  /** Whether the server's last report was that it had nothing more, and no event is left to take. */
  get isLive(): boolean {
    return this.liveReported && this.subscription.readableLength === 0;
  }

  /**
   * Takes the events that have arrived, at most a batch.
   * @throws the reason why the subscription ended, once all events were taken
   */
  take(): { events: StoredEvent[]; position: Position } {
    const events: StoredEvent[] = [];
    const size = new BatchSize(BATCH_EVENTS_MAX);
    while (!size.isFull) {
      const resolved = this.subscription.read() as { event?: Parameters<typeof toStored>[0] } | null;
      if (resolved === null) break;
      const { event } = resolved;
      if (!event?.position) continue;
      this.position = toPosition(event.position);
      const stored = toStored(event);
      if (!stored) continue;
      events.push(stored);
      size.add(stored);
    }
    if (this.subscription.readableLength === 0) this.position = Math.max(this.position, this.passed);
    if (events.length === 0 && this.failure) throw this.failure;
    return { events, position: this.position };
  }

  /** The log was searched up to here. This may be the end of the log, and so beyond the newest event. */
  get searchedUpTo(): Position {
    return Math.max(this.position, this.checkpoint);
  }

  close(): void {
    clearTimeout(this.unconfirmed);
    this.leadership.removeEventListener('abort', this.deposed);
    // Rejects only with the error of the subscription, which was reported already.
    this.subscription.unsubscribe().catch(() => undefined);
  }

  private readonly deposed = () => {
    this.fail(new Error('another node is the leader'));
  };

  private listen(): void {
    const { subscription } = this;
    const ring = () => {
      this.changed.ring();
    };
    this.leadership.addEventListener('abort', this.deposed);
    subscription.on('confirmation', () => {
      clearTimeout(this.unconfirmed);
    });
    subscription.on('readable', ring);
    subscription.on('caughtUp', () => {
      this.liveReported = true;
      ring();
    });
    subscription.on('fellBehind', () => {
      this.liveReported = false;
    });
    // Stays attached when no batch is taken any more: an error without a listener would end the process.
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

  /** The server matches prefixes, so it lets a few more types through. */
  private serverFilter({ types }: EventFilter) {
    return eventTypeFilter({
      prefixes: [...types],
      maxSearchWindow: SEARCH_WINDOW_EVENTS,
      checkpointReached: (_, position) => {
        this.passed = this.checkpoint;
        this.checkpoint = toPosition(position);
        this.changed.ring();
      },
    });
  }
}
