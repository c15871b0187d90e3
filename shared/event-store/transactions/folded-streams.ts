import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { EventSealing } from './event-sealing.ts';
import { NO_STREAM, type EventStore, type EventToAppend, type Position, type StoredEvent } from '../event-store.ts';

export interface DomainEvent {
  type: string;
  data: object;
}

/** The fold of an aggregate. Must be one constant, because it is the key of the cached states. */
export interface Fold<State, Event extends DomainEvent> {
  initial: State;
  /** Must not change `state`. `time` is the event's time in Unix milliseconds, `id` its id. */
  evolve: (state: State, event: Event, time: number, id: string) => State;
  /** Approximate size of a state as JSON, for large states that take long to serialise. */
  characters?: (state: State) => number;
}

/** The state of a stream after its newest event. */
export interface Folded<State> {
  state: State;
  /** Revision of the newest event; `NO_STREAM` when there is none. */
  revision: number;
  /** Position of the newest event; 0 when there is none. */
  position: Position;
}

interface Kept<State = unknown> extends Folded<State> {
  fold: unknown;
  /** Id of the newest event. */
  eventId: string;
}

/** Maximum size of all cached states, as JSON. The least recently used are dropped first. */
const CHARACTERS_MAX = 32 * 1_024 * 1_024;
/** A smaller state counts as this large, which bounds the cache to 10,000 states. */
const STATE_CHARACTERS_MIN = CHARACTERS_MAX / 10_000;
/**
 * A larger state counts as this large: without a place in the cache, it would be folded from the beginning for each
 * command.
 */
const STATE_CHARACTERS_MAX = CHARACTERS_MAX / 4;
/** Events per read, so that folding a long stream blocks other work for some milliseconds only. */
const PIECE_EVENTS = 200;

/**
 * Folds streams and caches the states, so that the next read continues where the last one ended. Caches only what was
 * read, never what is about to be appended. Each read includes the newest known event: if it is gone, because the
 * stream was truncated or its events deleted, the stream is folded from the beginning.
 */
export class FoldedStreams {
  private readonly kept = new LRUCache<string, Kept>({ maxSize: CHARACTERS_MAX });

  constructor(
    private readonly store: Pick<EventStore, 'read'>,
    private readonly sealing?: Pick<EventSealing, 'open'>,
  ) {}

  async read<State, Event extends DomainEvent>(stream: string, fold: Fold<State, Event>): Promise<Folded<State>> {
    const kept = this.kept.get(stream);
    let known = kept?.fold === fold ? (kept as Kept<State>) : undefined;
    for (;;) {
      const events = await this.store.read(stream, { from: known?.revision ?? 0, limit: PIECE_EVENTS });
      if (known && !isNewest(events[0], known)) {
        known = undefined;
        continue;
      }
      const unread = known ? events.slice(1) : events;
      known = foldOn(fold, known, this.sealing && unread.length > 0 ? await this.sealing.open(unread) : unread);
      if (events.length < PIECE_EVENTS) break;
      await yieldToEventLoop();
    }
    if (!known) this.kept.delete(stream);
    else if (known !== kept) this.kept.set(stream, known, { size: charactersOf(fold, known.state) });
    return known ?? { state: fold.initial, revision: NO_STREAM, position: 0 };
  }
}

const charactersOf = <State, Event extends DomainEvent>(fold: Fold<State, Event>, state: State): number => {
  const characters = fold.characters?.(state) ?? (JSON.stringify(state) as string | undefined)?.length ?? 1;
  return Math.ceil(Math.min(Math.max(characters, STATE_CHARACTERS_MIN), STATE_CHARACTERS_MAX));
};

const isNewest = (event: StoredEvent | undefined, { revision, eventId }: Kept): boolean =>
  event?.revision === revision && event.id === eventId;

const foldOn = <State, Event extends DomainEvent>(
  fold: Fold<State, Event>,
  known: Kept<State> | undefined,
  events: readonly StoredEvent[],
): Kept<State> | undefined => {
  const newest = events.at(-1);
  if (!newest) return known;
  const state = foldEvents(fold, known ? known.state : fold.initial, events);
  return { fold, state, revision: newest.revision, position: newest.position, eventId: newest.id };
};

export const foldEvents = <State, Event extends DomainEvent>(
  { evolve }: Fold<State, Event>,
  from: State,
  events: readonly (StoredEvent | EventToAppend)[],
): State => events.reduce((state, event) => evolve(state, event as unknown as Event, event.time, event.id), from);
