import { watchEvents, type WatchEvent } from '../../../schemas/events/watch-events.ts';
import type { EventStore, Position, StoredEvent } from '../../../shared/event-store/event-store.ts';
import { withoutClaim } from '../../../shared/read-models/watches.ts';
import type { ChainProgress } from '../domain/chain-progress.ts';
import { liveWatches } from '../domain/coverage.ts';
import { watchedEvent, type WatchedEvent } from './watched-event.ts';

/** What happened to a watch. `watch` is how it is if this registration is its first one. */
export type WatchChange = { position: Position; watchId: string } & (
  | { kind: 'registered'; watch: WatchedEvent }
  | { kind: 'moved'; startBlock: number; isEarlier: boolean }
  | { kind: 'replay'; fromBlock: number; toBlock: number }
  | { kind: 'paused' }
  | { kind: 'resumed'; isUnbounded: boolean }
  | { kind: 'removed'; claim: Extract<WatchEvent, { type: 'WatchRemoved' }>['data'] }
);

const types = Object.keys(watchEvents) as WatchEvent['type'][];

/**
 * The watches of one chain, read from the event store. They outlive a follower that fails, so that the next one reads
 * only what is new.
 */
export class Watches {
  /** In position order. */
  private readonly changes: WatchChange[] = [];
  private readUpTo: Position = 0;
  /** The watches after all changes that were read. */
  private readonly newest = new Map<string, WatchedEvent>();
  /** The watches after the first `applied` changes. */
  private byId = new Map<string, WatchedEvent>();
  private applied = 0;

  constructor(
    private readonly eventStore: Pick<EventStore, 'subscribeAll'>,
    private readonly chainId: number,
  ) {}

  /** Reads everything that is registered by now. @throws if the signal aborts */
  async load(signal: AbortSignal): Promise<void> {
    for await (const { caughtUp } of this.read(signal)) if (caughtUp) return;
    throw signal.reason;
  }

  /** The contracts of all registrations that were read, whether their watches were added or not. Lower case. */
  get contracts(): ReadonlySet<string> {
    return new Set(this.changes.flatMap((change) => (change.kind === 'registered' ? [change.watch.contract] : [])));
  }

  /** The watches that the progress contains, by id. */
  at({ watchesUpTo }: Pick<ChainProgress, 'watchesUpTo'>): ReadonlyMap<string, WatchedEvent> {
    if ((this.changes[this.applied - 1]?.position ?? 0) > watchesUpTo) {
      this.byId = new Map();
      this.applied = 0;
    }
    for (;;) {
      const change = this.changes[this.applied];
      if (!change || change.position > watchesUpTo) return this.byId;
      const watch = changed(this.byId.get(change.watchId), change);
      if (watch) this.byId.set(watch.id, watch);
      this.applied += 1;
    }
  }

  /** The watch of a range. @throws if it was not added */
  of(progress: ChainProgress, watchId: string): WatchedEvent {
    const watch = this.at(progress).get(watchId);
    if (!watch) throw new Error(`blocks are read for ${watchId}, which is not registered`);
    return watch;
  }

  /**
   * A watch as it is now, whether the progress contains what happened to it or not: one that is stopped is read no more at once,
   * also while there is no room for the registrations before that.
   */
  now(watchId: string): WatchedEvent | undefined {
    return this.newest.get(watchId);
  }

  /** Those that are read at the head: in this block, or, without one, in all that follow. */
  live(progress: ChainProgress, block?: number): WatchedEvent[] {
    return liveWatches(progress, this.at(progress).values(), block);
  }

  /** What happened after a position up to another, in position order, as far as it was read. */
  between(after: Position, upTo: Position): readonly WatchChange[] {
    if (after >= upTo) return [];
    return this.changes.filter(({ position }) => after < position && position <= upTo);
  }

  /** Yields the changes after a position in batches, for ever. There are no others up to position `upTo`. */
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
        .map(changeOf);
      this.changes.push(...changes);
      for (const change of changes) {
        const watch = changed(this.newest.get(change.watchId), change);
        if (watch) this.newest.set(watch.id, watch);
      }
      this.readUpTo = position;
      yield { changes, caughtUp };
    }
  }
}

const changeOf = (event: StoredEvent & WatchEvent): WatchChange => {
  const { type, position, data } = event;
  const { watchId } = data;
  switch (type) {
    case 'ContractRegistered':
      return { kind: 'registered', position, watchId, watch: watchedEvent(event) };
    case 'WatchExtended':
    case 'WatchShortened':
      return { kind: 'moved', position, watchId, startBlock: data.startBlock, isEarlier: type === 'WatchExtended' };
    case 'WatchReplayRequested':
      return { kind: 'replay', position, watchId, fromBlock: data.fromBlock, toBlock: data.toBlock };
    case 'WatchPaused':
      return { kind: 'paused', position, watchId };
    case 'WatchResumed':
      return { kind: 'resumed', position, watchId, isUnbounded: data.isUnbounded };
    case 'WatchRemoved':
      return { kind: 'removed', position, watchId, claim: data };
  }
};

/** Returns a watch after a change; `undefined` if it was never registered. */
export const changed = (watch: WatchedEvent | undefined, change: WatchChange): WatchedEvent | undefined => {
  if (!watch) return change.kind === 'registered' ? change.watch : undefined;
  switch (change.kind) {
    case 'registered':
      return withClaims(watch, { claims: [...new Set([...watch.claims, ...change.watch.claims])] });
    case 'moved': {
      const { startBlock: wantedFrom } = change;
      return { ...watch, startBlock: Math.min(watch.startBlock, wantedFrom), wantedFrom };
    }
    case 'replay':
      return watch;
    case 'paused':
      return withClaims(watch, { isPaused: true });
    case 'resumed':
      return { ...withClaims(watch, { isPaused: false }), isUnbounded: watch.isUnbounded || change.isUnbounded };
    case 'removed':
      return withClaims(watch, { claims: withoutClaim(watch.claims, change.claim) });
  }
};

const withClaims = (watch: WatchedEvent, changes: Partial<Pick<WatchedEvent, 'claims' | 'isPaused'>>): WatchedEvent => {
  const { claims, isPaused } = { ...watch, ...changes };
  return { ...watch, claims, isPaused, isStopped: isPaused || claims.length === 0 };
};
