import type { EventMetadata } from '../../schemas/events/event.ts';
import type { JsonObject } from '../../schemas/json.ts';

/**
 * The position of an event among all events of the store. It grows with every append and is not gapless. 0 is before
 * the first event. It is a number, because no log reaches 2^53 bytes or rows (decision 0002).
 */
export type Position = number;

export interface EventToAppend {
  /** A UUID. An append with the same ids at the same expected revision is the same append. */
  id: string;
  type: string;
  schemaVersion: number;
  /** Unix milliseconds. */
  time: number;
  data: JsonObject;
  /** `data` as JSON, where it was written already to know its size. */
  dataText?: string;
  metadata: EventMetadata;
}

export interface StoredEvent {
  readonly stream: string;
  /** Its number in its stream, from 0. */
  readonly revision: number;
  readonly position: Position;
  readonly id: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly time: number;
  /** `data` as the stored JSON text, for readers that pass it on without looking inside. */
  readonly dataText: string;
  /** Parsed on first use. */
  readonly data: JsonObject;
  readonly metadata: EventMetadata;
}

/** Tells an event from every other, also from one that another store has in its place. */
export type EventPlace = Pick<StoredEvent, 'id' | 'stream' | 'revision' | 'position'>;

export interface Appended {
  /** Of the last event appended. */
  revision: number;
  position: Position;
}

/** What to read. Without a filter, all events are read. */
export interface EventFilter {
  /** Never empty. */
  types: readonly string[];
}

export interface EventBatch {
  /** In position order; empty when the filter passed nothing. */
  events: StoredEvent[];
  /** All events up to here were given or filtered out: a reader resumes after it. */
  position: Position;
  /** Whether nothing newer existed when this batch was read. */
  caughtUp: boolean;
  /**
   * The newest event up to `position`, whether the filter passed it or not, of a stream of which nothing is ever
   * forgotten; absent where there is none near.
   */
  newestPermanent?: EventPlace | undefined;
}

export interface ReadStreamOptions {
  /** The first revision to return. Without it, a backwards read begins at the newest. */
  from?: number;
  direction?: 'forwards' | 'backwards';
  /** At most this many; without it all. */
  limit?: number;
}

/**
 * What a stream keeps: its newest events, or each event for so long. An event that is not kept is not read any more with
 * its stream; when it leaves the order of all events is up to the engine.
 */
export type Retention = { newest: number } | { seconds: number };

/** The expected revision of a stream that does not exist yet. */
export const NO_STREAM = -1;

/** The stream is not at the expected revision. The caller loads, decides and appends again. */
export class WrongExpectedRevision extends Error {
  override readonly name = 'WrongExpectedRevision';
  constructor(
    readonly stream: string,
    readonly expected: number,
    readonly actual: number,
  ) {
    super(`${stream} is at revision ${String(actual)}, not ${String(expected)}`);
  }
}

/** The append may or may not have happened. Appending the same event ids at the same expected revision confirms it. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

export interface EventStore {
  /**
   * Appends all events or none. A stream whose events are all forgotten is at the revision that `WrongExpectedRevision`
   * names, which need not be `NO_STREAM`.
   * @param keep the same at every append to a stream; without it everything is kept
   * @throws WrongExpectedRevision, OutcomeUnknown, and Refusal `dependency_unavailable` when nothing was written
   */
  append(
    stream: string,
    expectedRevision: number,
    events: readonly EventToAppend[],
    keep?: Retention,
  ): Promise<Appended>;
  /** Returns the events of one stream; empty for a stream that does not exist. */
  read(stream: string, options?: ReadStreamOptions): Promise<StoredEvent[]>;
  /** Returns one batch of all events after `position`, with at most `limit` events, or fewer that are some MiB. */
  readAll(after: Position, filter: EventFilter | undefined, limit: number): Promise<EventBatch>;
  /**
   * Yields all events after `position`, without end, until the signal aborts. The first batch with `caughtUp` may be
   * empty. A batch without events, which only reports progress past filtered events, may be up to 50 ms late.
   */
  subscribeAll(after: Position, filter: EventFilter | undefined, signal: AbortSignal): AsyncIterable<EventBatch>;
  /** Keeps only the newest `count` events of a stream from now on. */
  keepNewest(stream: string, count: number): Promise<void>;
  /** Returns the position of the newest event; 0 when there is none. */
  head(): Promise<Position>;
  close(): Promise<void>;
}
