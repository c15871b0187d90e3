import { watchEvents, type WatchEvent } from '../../../../schemas/events/event-catcher/watch-events.ts';
import type { EventStore, Position, StoredEvent } from '../../../../shared/event-store/event-store.ts';
import type { ChainProgress } from '../../domain/chain-progress.ts';
import { liveWatches } from '../../domain/backfill/coverage.ts';
import { evolveWatched, type WatchedEvent } from './watched-event.ts';

/** A stored event about a watch, and the watch after this event; `undefined` if the watch was never registered. */
export type WatchChange = WatchEvent & { readonly position: Position; readonly watch: WatchedEvent | undefined };

const types = Object.keys(watchEvents) as WatchEvent['type'][];

/**
 * The watches (registered contract events) of one chain, read from the event store. This object outlives a follower of
 * the chain that fails, so that the next follower reads only new events.
 */
export class Watches {
  /** In the order of their positions in the event store. */
  private readonly changes: WatchChange[] = [];
  private readUpTo: Position = 0;
  /** The watches by id, after all of `changes`. */
  private readonly newest = new Map<string, WatchedEvent>();
  /** The watches by id, after the first `applied` of `changes`. */
  private byId = new Map<string, WatchedEvent>();
  private applied = 0;

  constructor(
    private readonly eventStore: Pick<EventStore, 'subscribeAll'>,
    private readonly chainId: number,
  ) {}

  /** Reads all events about watches that are stored by now. @throws if the signal aborts */
  async load(signal: AbortSignal): Promise<void> {
    for await (const { caughtUp } of this.read(signal)) if (caughtUp) return;
    throw signal.reason;
  }

  /**
   * Addresses, in lower case, of the contracts of all watches read from the event store, even of those that the chain's
   * progress does not contain yet.
   */
  get contracts(): ReadonlySet<string> {
    return new Set(Array.from(this.newest.values(), ({ contract }) => contract));
  }

  /** Returns, by id, the watches that a chain's progress contains: those registered up to position `watchesUpTo`. */
  at({ watchesUpTo }: Pick<ChainProgress, 'watchesUpTo'>): ReadonlyMap<string, WatchedEvent> {
    if ((this.changes[this.applied - 1]?.position ?? 0) > watchesUpTo) {
      this.byId = new Map();
      this.applied = 0;
    }
    for (;;) {
      const change = this.changes[this.applied];
      if (!change || change.position > watchesUpTo) return this.byId;
      if (change.watch) this.byId.set(change.watch.id, change.watch);
      this.applied += 1;
    }
  }

  /** Returns the watch with this id. @throws if the progress does not contain the watch */
  get(progress: ChainProgress, watchId: string): WatchedEvent {
    const watch = this.at(progress).get(watchId);
    if (!watch) throw new Error(`blocks are read for ${watchId}, which is not registered`);
    return watch;
  }

  /**
   * Returns the newest state of a watch, even if the progress does not contain that state yet. So blocks are no longer
   * read for a watch as soon as it is stopped.
   */
  now(watchId: string): WatchedEvent | undefined {
    return this.newest.get(watchId);
  }

  /** Returns the watches whose logs are to be read in `block` at the head; without `block`, in every later block. */
  live(progress: ChainProgress, block?: number): WatchedEvent[] {
    return liveWatches(progress, this.at(progress).values(), block);
  }

  /** Returns the changes that were read with positions after `after`, up to and including `upTo`, in position order. */
  between(after: Position, upTo: Position): readonly WatchChange[] {
    if (after >= upTo) return [];
    return this.changes.filter(({ position }) => after < position && position <= upTo);
  }

  /**
   * Yields batches of all changes after `position`, then of new ones as they are stored, until the signal aborts. There
   * are no other changes up to a batch's `upTo`.
   */
  async *changesAfter(
    position: Position,
    signal: AbortSignal,
  ): AsyncGenerator<{ changes: readonly WatchChange[]; upTo: Position }> {
    const missed = this.changes.filter((change) => change.position > position);
    if (missed.length > 0) yield { changes: missed, upTo: this.readUpTo };
    for await (const { changes } of this.read(signal)) if (changes.length > 0) yield { changes, upTo: this.readUpTo };
  }

  private async *read(signal: AbortSignal): AsyncGenerator<{ changes: readonly WatchChange[]; caughtUp: boolean }> {
    for await (const { events, position, caughtUp } of this.eventStore.subscribeAll(this.readUpTo, { types }, signal)) {
      const changes = events
        .map((stored) => stored as StoredEvent & WatchEvent)
        .filter(({ data }) => data.chainId === this.chainId)
        .map((event) => this.evolve(event));
      this.changes.push(...changes);
      this.readUpTo = position;
      yield { changes, caughtUp };
    }
  }

  private evolve(event: StoredEvent & WatchEvent): WatchChange {
    const { type, data, position } = event;
    const watch = evolveWatched(this.newest.get(data.watchId), event, event.time);
    if (watch) this.newest.set(watch.id, watch);
    return { type, data, position, watch } as WatchChange;
  }
}
