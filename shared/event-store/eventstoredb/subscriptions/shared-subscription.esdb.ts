import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { WakeUp } from '../../../primitives/waiting/wake-up.ts';
import { AllSubscription } from './all-subscription.esdb.ts';
import { BatchSize } from '../../batch-size.ts';
import type { EventBatch, EventFilter, EventPlace, Position, StoredEvent } from '../../event-store.ts';
import { pacedBatches } from './paced-batches.ts';
import { isPermanent, placeOf } from '../../permanent-streams.ts';
import { Reconnecting, type Subscribing } from '../reconnecting.esdb.ts';

/** Maximum events per batch of one reader. */
const BATCH_EVENTS_MAX = 2_000;
/** Maximum size of the events held for readers that lag a little, measured as the text of their data. */
const HELD_CHARACTERS_MAX = 16 * 1024 * 1024;

/** Events that arrived together. */
interface Held {
  events: StoredEvent[];
  position: Position;
  characters: number;
}

/**
 * One subscription to `$all` without a filter, shared by all readers of a process that are at its head. Holds the
 * newest events. A reader that lags further reads alone until it has caught up, and holds up nobody.
 */
export class SharedSubscription {
  private readonly changed = new WakeUp();
  /** In position order, without gaps from `heldAfter` to `position`. */
  private held: Held[] = [];
  private heldAfter: Position = 0;
  private heldCharacters = 0;
  private position: Position = 0;
  private isLive = false;
  private readers = 0;
  private stopping: AbortController | undefined;

  constructor(private readonly subscribing: Subscribing) {}

  /** Whether a reader at that position can continue with the held events. */
  continues(after: Position): boolean {
    return this.stopping === undefined || after >= this.heldAfter;
  }

  /** Yields events that pass the filter, from a position that `continues` accepts, until the reader lags too far. */
  async *batches(
    { position: after, newestPermanent }: Pick<EventBatch, 'position' | 'newestPermanent'>,
    filter: EventFilter | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<EventBatch> {
    const wanted = filter && new Set(filter.types);
    let at = { position: after, newestPermanent };
    this.join(after);
    try {
      const read = (): EventBatch | undefined => {
        if (!this.continues(at.position)) return undefined;
        const batch = this.read(at.position, wanted);
        at = { position: batch.position, newestPermanent: batch.newestPermanent ?? at.newestPermanent };
        return { ...batch, ...at };
      };
      const isBehind = () => !this.isLive && this.position > at.position;
      const source = {
        changed: this.changed,
        read,
        get isBehind() {
          return isBehind();
        },
      };
      yield* pacedBatches(source, after, signal);
    } finally {
      this.leave();
    }
  }

  private join(after: Position): void {
    this.readers += 1;
    if (this.stopping) return;
    this.held = [];
    this.heldCharacters = 0;
    this.isLive = false;
    this.heldAfter = this.position = after;
    this.stopping = new AbortController();
    void this.follow(this.stopping.signal);
  }

  private leave(): void {
    this.readers -= 1;
    if (this.readers > 0) return;
    this.stopping?.abort();
    this.stopping = undefined;
    this.held = [];
  }

  private read(after: Position, wanted: ReadonlySet<string> | undefined): EventBatch {
    const events: StoredEvent[] = [];
    const size = new BatchSize(BATCH_EVENTS_MAX);
    let newestPermanent: EventPlace | undefined;
    const first = this.held.findLastIndex(({ position }) => position <= after) + 1;
    for (const batch of this.held.slice(first)) {
      for (const event of batch.events) {
        if (event.position <= after) continue;
        if (isPermanent(event.stream)) newestPermanent = event;
        if (wanted && !wanted.has(event.type)) continue;
        events.push(event);
        size.add(event);
        if (size.isFull) return batchOf(events, event.position, false, newestPermanent);
      }
    }
    return batchOf(events, Math.max(after, this.position), this.isLive, newestPermanent);
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const reconnecting = new Reconnecting(this.subscribing.logger);
    while (!signal.aborted) {
      const { client, leadership } = this.subscribing;
      const subscription = new AllSubscription({ client, after: this.position, leadership: leadership() });
      try {
        await this.receive(subscription, reconnecting, signal);
      } catch (error) {
        await reconnecting.failed(error, this.position, signal);
      } finally {
        subscription.close();
      }
    }
  }

  private async receive(subscription: AllSubscription, reconnecting: Reconnecting, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const seen = subscription.changed.rung;
      const { events, position } = subscription.take();
      if (position > this.position || subscription.isLive !== this.isLive) {
        this.isLive = subscription.isLive;
        this.hold(events, position);
        reconnecting.succeeded();
        // Events that arrive later in this tick are held together.
        await yieldToEventLoop();
      } else await subscription.changed.wait(seen, signal);
    }
  }

  private hold(events: StoredEvent[], position: Position): void {
    const characters = events.reduce((sum, { dataText }) => sum + dataText.length, 0);
    this.position = position;
    if (events.length > 0) this.held.push({ events, position, characters });
    this.heldCharacters += characters;
    while (this.heldCharacters > HELD_CHARACTERS_MAX) {
      const oldest = this.held.shift();
      if (!oldest) break;
      this.heldCharacters -= oldest.characters;
      this.heldAfter = oldest.position;
    }
    this.changed.ring();
  }
}

const batchOf = (
  events: StoredEvent[],
  position: Position,
  caughtUp: boolean,
  newestPermanent: EventPlace | undefined,
): EventBatch => ({ events, position, caughtUp, newestPermanent: newestPermanent && placeOf(newestPermanent) });
