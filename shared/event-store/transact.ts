import { eventCatalogue, type EventType } from '../../schemas/events/catalogue.ts';
import type { EventMetadata } from '../../schemas/events/event.ts';
import { Refusal } from '../errors/refusal.ts';
import { Backoff } from '../primitives/backoff.ts';
import type { Clock } from '../primitives/clock.ts';
import type { Ids } from '../primitives/ids.ts';
import {
  NO_STREAM,
  OutcomeUnknown,
  WrongExpectedRevision,
  type Appended,
  type EventStore,
  type EventToAppend,
  type Position,
  type StoredEvent,
} from './event-store.ts';

export interface DomainEvent {
  type: string;
  data: object;
}

/** An aggregate's fold. `time` is the Unix milliseconds of the stored event, `id` its id. */
export interface Fold<State, Event extends DomainEvent> {
  initial: State;
  evolve: (state: State, event: Event, time: number, id: string) => State;
}

export interface Transaction<State, Event extends DomainEvent> {
  stream: string;
  fold: Fold<State, Event>;
  metadata: EventMetadata;
  /** Pure. Returns `[]` when nothing needs to change, and throws a refusal. It is called again after a conflict. */
  decide: (state: State, nowMs: number) => readonly Event[];
}

export interface Loaded<State> {
  state: State;
  /** The position of the newest event of the stream; 0 when it has none. */
  position: Position;
}

/** The state and position after the events that were appended. */
export interface Transacted<State> extends Loaded<State> {
  /** What the decision was made on. */
  before: State;
  appended: boolean;
}

/** Conflicts with other processes that one command survives. */
const ATTEMPTS_MAX = 50;
/** Gives a server time to come back. The caller waits no longer than that. */
const CONFIRM_WITHIN_MS = 15_000;
const RETRY_FIRST_MS = 20;
const RETRY_MAX_MS = 1_000;

/** Checks an event against its schema, and gives it an id and a time. */
export const toAppend = (
  event: DomainEvent,
  metadata: EventMetadata,
  { clock, ids }: { clock: Clock; ids: Ids },
): EventToAppend => {
  const definition = eventCatalogue[event.type as EventType];
  return {
    id: ids.uuid(),
    type: event.type,
    schemaVersion: definition.version,
    time: clock.now(),
    data: definition.data.parse(event.data),
    metadata,
  };
};

/**
 * Loads, folds, decides and appends. It retries a conflict, and confirms an unknown outcome with the same event ids.
 */
export class Transactor {
  /** The last transaction of each busy stream. Of several at once only one could append, so they queue. */
  private readonly lines = new Map<string, Promise<unknown>>();

  constructor(
    readonly store: EventStore,
    readonly clock: Clock,
    readonly ids: Ids,
  ) {}

  /** Runs transactions on the same stream one after the other. */
  async transact<State, Event extends DomainEvent>(transaction: Transaction<State, Event>): Promise<Transacted<State>> {
    const { stream } = transaction;
    const attempt = () => this.attempt(transaction);
    const mine = this.lines.get(stream)?.then(attempt, attempt) ?? attempt();
    this.lines.set(stream, mine);
    try {
      return await mine;
    } finally {
      if (this.lines.get(stream) === mine) this.lines.delete(stream);
    }
  }

  private async attempt<State, Event extends DomainEvent>(
    transaction: Transaction<State, Event>,
  ): Promise<Transacted<State>> {
    const { stream, fold, metadata, decide } = transaction;
    for (let attempt = 1; ; attempt += 1) {
      const stored = await this.store.read(stream);
      const before = foldEvents(fold, stored);
      const last = stored.at(-1);
      const decided = decide(before, this.clock.now());
      if (decided.length === 0) return { before, state: before, position: last?.position ?? 0, appended: false };
      const events = decided.map((event) => toAppend(event, metadata, this));
      try {
        const { position } = await appendConfirmed(this.store, stream, last?.revision ?? NO_STREAM, events);
        const state = events.reduce((folded, event) => foldEvent(fold, folded, event), before);
        return { before, state, position, appended: true };
      } catch (error) {
        if (!(error instanceof WrongExpectedRevision) || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  /** Returns the state of a stream and the position of its newest event, without changing it. */
  async load<State, Event extends DomainEvent>(stream: string, fold: Fold<State, Event>): Promise<Loaded<State>> {
    const stored = await this.store.read(stream);
    return { state: foldEvents(fold, stored), position: stored.at(-1)?.position ?? 0 };
  }
}

/** An append has no answer, so it is unknown whether it is stored now or will be later. */
export class OutcomeStillUnknown extends Refusal {
  constructor(stream: string, cause: unknown) {
    const detail = `it is unknown whether ${stream} was appended to: the event store does not answer`;
    super('dependency_unavailable', detail, { retryAfter: 1, cause });
  }
}

/**
 * Appends, and confirms an unknown outcome by appending the same event ids again.
 * @param signal no attempt begins after it aborted
 * @throws WrongExpectedRevision, and OutcomeStillUnknown when it is still unknown after 15 s, or when the signal aborts
 */
export const appendConfirmed = async (
  store: EventStore,
  stream: string,
  expectedRevision: number,
  events: readonly EventToAppend[],
  signal?: AbortSignal,
): Promise<Appended> => {
  signal?.throwIfAborted();
  const giveUpAt = performance.now() + CONFIRM_WITHIN_MS;
  let isUnknown = false;
  const backoff = new Backoff(RETRY_FIRST_MS, RETRY_MAX_MS);
  for (;;) {
    try {
      return await store.append(stream, expectedRevision, events);
    } catch (error) {
      isUnknown ||= error instanceof OutcomeUnknown;
      // A later attempt that wrote nothing does not decide the outcome of an earlier one.
      if (!isUnknown || error instanceof WrongExpectedRevision) throw error;
      const isWorthAsking = error instanceof OutcomeUnknown || isUnavailable(error);
      if (!isWorthAsking || performance.now() + backoff.nextMs > giveUpAt) throw new OutcomeStillUnknown(stream, error);
      await backoff.pause(signal);
      if (signal?.aborted) throw new OutcomeStillUnknown(stream, error);
    }
  }
};

const isUnavailable = (error: unknown): boolean => error instanceof Refusal && error.code === 'dependency_unavailable';

const foldEvents = <State, Event extends DomainEvent>(fold: Fold<State, Event>, events: StoredEvent[]): State =>
  events.reduce((state, event) => foldEvent(fold, state, event), fold.initial);

const foldEvent = <State, Event extends DomainEvent>(
  fold: Fold<State, Event>,
  state: State,
  event: StoredEvent | EventToAppend,
): State => fold.evolve(state, event as unknown as Event, event.time, event.id);
