import type { EventMetadata } from '../../schemas/events/event.ts';
import type { JsonObject } from '../../schemas/json.ts';

/**
 * The position of an event among all events of the store. Positions grow with every append but have gaps; 0 is before
 * the first event. A number suffices, because no log reaches 2^53 bytes or rows (decision 0002).
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
  /** `data` as JSON text, if the caller has serialised it already to know its size. */
  dataText?: string;
  metadata: EventMetadata;
}

export interface StoredEvent {
  readonly stream: string;
  /** The event's number in its stream, from 0. */
  readonly revision: number;
  readonly position: Position;
  readonly id: string;
  readonly type: string;
  /** The version with which it was stored. */
  readonly schemaVersion: number;
  readonly time: number;
  /** The data as the stored JSON text, for readers that pass it on without looking inside. */
  readonly dataText: string;
  /** Parsed on first use, in the form of the newest version of its type (`schemas/events/upcast.ts`). */
  readonly data: JsonObject;
  readonly metadata: EventMetadata;
}

/** Identifies an event, also against an event that another store has at the same position. */
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
  /** In position order; empty when no event passed the filter. */
  events: StoredEvent[];
  /** All events up to here were returned or filtered out. A reader resumes after this position. */
  position: Position;
  /** Whether nothing newer existed when this batch was read. */
  caughtUp: boolean;
  /**
   * The newest event up to `position` of a stream from which nothing is ever deleted, whether it passed the filter or
   * not. Absent if there is none nearby.
   */
  newestPermanent?: EventPlace | undefined;
}

export interface ReadStreamOptions {
  /** The first revision to return. Default for a backwards read: the newest. */
  from?: number;
  direction?: 'forwards' | 'backwards';
  /** Default: all. */
  limit?: number;
}

/**
 * Retention of a stream: its newest events, or each event for this long. Reads of the stream no longer return a deleted
 * event; when the event leaves the order of all events is up to the engine.
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
   * Appends all events or none. For a stream whose events are all deleted, `WrongExpectedRevision` names the revision
   * to expect, which need not be `NO_STREAM`.
   * @param keep must be the same at every append to a stream; default: everything is kept
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
  /** Returns one batch of all events after `position`: at most `limit` events, fewer if they exceed some MiB. */
  readAll(after: Position, filter: EventFilter | undefined, limit: number): Promise<EventBatch>;
  /**
   * Yields all events after `position`, without end, until the signal aborts. The first batch with `caughtUp` may be
   * empty. A batch without events only reports progress past filtered events, and may be up to 50 ms late.
   */
  subscribeAll(after: Position, filter: EventFilter | undefined, signal: AbortSignal): AsyncIterable<EventBatch>;
  /** From now on, keeps only the newest `count` events of a stream. */
  keepNewest(stream: string, count: number): Promise<void>;
  /** Returns the position of the newest event; 0 when there is none. */
  head(): Promise<Position>;
  close(): Promise<void>;
}
