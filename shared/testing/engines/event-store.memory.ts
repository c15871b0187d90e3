import { systemClock, type Clock } from '../../primitives/clock.ts';
import { firstIndex } from '../../primitives/first-index.ts';
import { WakeUp } from '../../primitives/waiting/wake-up.ts';
import { BatchSize } from '../../event-store/batch-size.ts';
import {
  WrongExpectedRevision,
  type Appended,
  type EventBatch,
  type EventFilter,
  type EventStore,
  type EventToAppend,
  type ReadStreamOptions,
  type Retention,
  type StoredEvent,
} from '../../event-store/event-store.ts';
import { isPermanent, placeOf } from '../../event-store/permanent-streams.ts';
import { LazyStoredEvent } from '../../event-store/stored-event.ts';
import { subscribeByReading } from '../../event-store/subscription.ts';

/**
 * The event store of tests and simulations. Keeps all events in one array. A stream whose events were all deleted keeps
 * its revision, as on EventStoreDB.
 */
export class MemoryEventStore implements EventStore {
  private readonly all: StoredEvent[] = [];
  private readonly streams = new Map<string, StoredEvent[]>();
  private readonly retention = new Map<string, number>();
  private readonly appended = new WakeUp();
  /** The time at which an event is deleted, by event id. */
  private readonly forgottenAt = new Map<string, number>();
  private newest = 0;

  constructor(private readonly clock: Clock = systemClock) {}

  append(
    stream: string,
    expectedRevision: number,
    events: readonly EventToAppend[],
    keep?: Retention,
  ): Promise<Appended> {
    const stored = this.streams.get(stream) ?? [];
    const actual = stored.at(-1)?.revision ?? -1;
    if (actual !== expectedRevision) {
      const repeated = stored.filter((event) => event.revision > expectedRevision).slice(0, events.length);
      const last = repeated.at(-1);
      const isRepeat = repeated.length === events.length && repeated.every((event, at) => event.id === events[at]?.id);
      if (isRepeat && last) return Promise.resolve({ revision: last.revision, position: last.position });
      return Promise.reject(new WrongExpectedRevision(stream, expectedRevision, actual));
    }
    events.forEach((event, index) => {
      this.newest += 1;
      const added = new LazyStoredEvent(
        this.newest,
        stream,
        actual + 1 + index,
        event.id,
        event.type,
        event.schemaVersion,
        event.time,
        JSON.stringify(event.data),
        JSON.stringify(event.metadata),
      );
      stored.push(added);
      this.all.push(added);
    });
    this.streams.set(stream, stored);
    if (keep && 'seconds' in keep) {
      for (const { id } of events) this.forgottenAt.set(id, this.clock.now() + keep.seconds * 1_000);
    }
    this.keepOnly(stored, keep && 'newest' in keep ? keep.newest : this.retention.get(stream));
    this.appended.ring();
    return Promise.resolve({ revision: actual + events.length, position: this.newest });
  }

  read(stream: string, { from, direction = 'forwards', limit }: ReadStreamOptions = {}): Promise<StoredEvent[]> {
    const now = this.clock.now();
    const all = this.streams.get(stream) ?? [];
    const stored =
      this.forgottenAt.size === 0 ? all : all.filter(({ id }) => (this.forgottenAt.get(id) ?? Infinity) > now);
    const found =
      direction === 'forwards'
        ? stored.slice(firstIndex(stored, ({ revision }) => revision >= (from ?? 0)))
        : stored
            .slice(
              0,
              firstIndex(stored, ({ revision }) => revision > (from ?? Infinity)),
            )
            .reverse();
    return Promise.resolve(found.slice(0, limit));
  }

  readAll(after: number, filter: EventFilter | undefined, limit: number): Promise<EventBatch> {
    const events: StoredEvent[] = [];
    const first = firstIndex(this.all, ({ position }) => position > after);
    const size = new BatchSize(limit);
    for (let at = first; at < this.all.length && !size.isFull; at += 1) {
      const event = this.all[at];
      if (!event || (filter && !filter.types.includes(event.type))) continue;
      events.push(event);
      size.add(event);
    }
    const caughtUp = !size.isFull;
    const position = caughtUp ? Math.max(this.newest, after) : (events.at(-1)?.position ?? after);
    const newestPermanent = this.all.findLast((event) => event.position <= position && isPermanent(event.stream));
    return Promise.resolve({
      events,
      position,
      caughtUp,
      newestPermanent: newestPermanent && placeOf(newestPermanent),
    });
  }

  subscribeAll(after: number, filter: EventFilter | undefined, signal: AbortSignal): AsyncIterable<EventBatch> {
    return subscribeByReading(this, after, filter, this.appended, signal);
  }

  keepNewest(stream: string, count: number): Promise<void> {
    this.retention.set(stream, count);
    return Promise.resolve();
  }

  head(): Promise<number> {
    return Promise.resolve(this.newest);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private keepOnly(stored: StoredEvent[], count: number | undefined): void {
    if (count === undefined || stored.length <= count) return;
    const forgotten = new Set(stored.splice(0, stored.length - count));
    const kept = this.all.filter((event) => !forgotten.has(event));
    this.all.splice(0, this.all.length, ...kept);
  }
}
