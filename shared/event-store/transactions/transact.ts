import { eventCatalogue, type EventType } from '../../../schemas/events/catalogue.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { Refusal } from '../../errors/refusal.ts';
import { Backoff } from '../../primitives/waiting/backoff.ts';
import type { Clock } from '../../primitives/clock.ts';
import type { Ids } from '../../primitives/ids.ts';
import {
  NO_STREAM,
  OutcomeUnknown,
  WrongExpectedRevision,
  type Appended,
  type EventStore,
  type EventToAppend,
  type Position,
  type Retention,
} from '../event-store.ts';
import type { EventSealing } from './event-sealing.ts';
import { foldEvents, FoldedStreams, type DomainEvent, type Fold, type Folded } from './folded-streams.ts';

export interface Transaction<State, Event extends DomainEvent> {
  stream: string;
  fold: Fold<State, Event>;
  metadata: EventMetadata;
  /** Retention of the stream. Default: everything is kept. */
  keep?: Retention;
  /**
   * Pure; called again after a conflict. Returns `[]` when nothing needs to change, or throws a refusal. Must not
   * change the state, which is cached for the next command.
   */
  decide: (state: State, nowMs: number) => readonly Event[];
}

/** The state and position after the events that were appended. */
export interface Transacted<State> {
  state: State;
  /** The position of the newest event of the stream; 0 when it has none. */
  position: Position;
  /** The state on which the decision was based. */
  before: State;
  appended: boolean;
}

/** Maximum conflicts with other processes in one command. */
const ATTEMPTS_MAX = 50;
/** How long the caller waits for a server to come back. */
const CONFIRM_WITHIN_MS = 15_000;
const RETRY_FIRST_MS = 20;
const RETRY_MAX_MS = 1_000;

/** Checks an event against its schema, and gives it an id and a time. */
export const toAppend = (event: DomainEvent, metadata: EventMetadata, stamps: Stamps): EventToAppend => {
  const { type } = event;
  return stamp({ type, data: eventCatalogue[type as EventType].data.parse(event.data) }, metadata, stamps);
};

interface Stamps {
  clock: Clock;
  ids: Ids;
}

/**
 * Gives an event an id and a time, without checking it: for bulk writers, whose events fit their schema by
 * construction.
 */
export const stamp = (
  { type, data }: Pick<EventToAppend, 'type' | 'data'>,
  metadata: EventMetadata,
  { clock, ids }: Stamps,
): EventToAppend => ({
  id: ids.uuid(),
  type,
  schemaVersion: eventCatalogue[type as EventType].version,
  time: clock.now(),
  data,
  metadata,
});

/**
 * Loads, folds, decides and appends. Retries after a conflict, and confirms an unknown outcome with the same event ids.
 */
export class Transactor {
  /** The last transaction of each busy stream. Of several concurrent ones only one could append, so they queue. */
  private readonly lines = new Map<string, Promise<unknown>>();
  private readonly folded: FoldedStreams;

  constructor(
    readonly store: EventStore,
    readonly clock: Clock,
    readonly ids: Ids,
    /** Only in a process that stores personal data. */
    private readonly sealing?: EventSealing,
  ) {
    this.folded = new FoldedStreams(store, sealing);
  }

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
    const { stream, fold, metadata, keep, decide } = transaction;
    const store = {
      append: (...[to, revision, events]: Parameters<EventStore['append']>) =>
        this.store.append(to, revision, events, keep),
    };
    let actual = NO_STREAM;
    for (let attempt = 1; ; attempt += 1) {
      const { state: before, revision, position } = await this.load(stream, fold);
      const decided = decide(before, this.clock.now());
      if (decided.length === 0) return { before, state: before, position, appended: false };
      const events = decided.map((event) => toAppend(event, metadata, this));
      const expected = keep && 'seconds' in keep ? Math.max(revision, actual) : revision;
      try {
        const appended = await appendConfirmed(store, stream, expected, await this.sealed(events));
        if (expected > revision && (await this.hasEvents(stream, { after: revision, upTo: expected }))) continue;
        const state = foldEvents(fold, before, events);
        return { before, state, position: appended.position, appended: true };
      } catch (error) {
        if (!(error instanceof WrongExpectedRevision) || attempt >= ATTEMPTS_MAX) throw error;
        ({ actual } = error);
      }
    }
  }

  private async sealed(events: readonly EventToAppend[]): Promise<EventToAppend[]> {
    const { sealing } = this;
    if (sealing) return Promise.all(events.map((event) => sealing.seal(event)));
    const personal = events.find(({ type }) => Object.keys(eventCatalogue[type as EventType].personal).length > 0);
    if (personal) throw new Error(`${personal.type} has personal data, and nothing here can seal it`);
    return [...events];
  }

  /** Returns the state of a stream, without changing it. */
  load<State, Event extends DomainEvent>(stream: string, fold: Fold<State, Event>): Promise<Folded<State>> {
    return this.folded.read(stream, fold);
  }

  /**
   * Whether events that a conflict named, but a read did not return, can be read now: then they were being stored, not
   * deleted, and the decision must be made again with them.
   */
  private async hasEvents(stream: string, { after, upTo }: { after: number; upTo: number }): Promise<boolean> {
    const [next] = await this.store.read(stream, { from: after + 1, limit: 1 });
    return next !== undefined && next.revision <= upTo;
  }
}

/** An append got no answer, so it may be stored already or later. */
export class OutcomeStillUnknown extends Refusal {
  constructor(stream: string, cause: unknown) {
    const detail = `it is unknown whether ${stream} was appended to: the event store does not answer`;
    super('dependency_unavailable', detail, { retryAfter: 1, cause });
  }
}

/**
 * Appends, and confirms an unknown outcome by appending the same event ids again.
 * @param signal starts no further attempt once aborted
 * @throws WrongExpectedRevision, and OutcomeStillUnknown if the outcome is unknown after 15 s, or when the signal
 * aborts
 */
export const appendConfirmed = async (
  store: Pick<EventStore, 'append'>,
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
