import type { EventMetadata } from '../../schemas/events/event.ts';
import type { JsonObject } from '../../schemas/json.ts';

/**
 * Where an event stands among all events of the store: grows with every append, is not gapless.
 * 0 is before the first event. A number, because no log reaches 2^53 bytes or rows (decision 0002).
 */
export type Position = number;

export interface EventToAppend {
  /** UUID. The same ids again, at the same expected revision, are the same append. */
  id: string;
  type: string;
  schemaVersion: number;
  /** Unix milliseconds. */
  time: number;
  data: JsonObject;
  metadata: EventMetadata;
}

export interface StoredEvent {
  readonly stream: string;
  /** Place in its stream, from 0. */
  readonly revision: number;
  readonly position: Position;
  readonly id: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly time: number;
  /** `data` as the JSON text that is stored: pass this on where nothing needs to look inside. */
  readonly dataText: string;
  /** Parsed on first use. */
  readonly data: JsonObject;
  readonly metadata: EventMetadata;
}

export interface Appended {
  /** Of the last event appended. */
  revision: number;
  position: Position;
}

/** What to read; without a filter, everything. */
export interface EventFilter {
  /** Never empty. */
  types: readonly string[];
}

export interface EventBatch {
  /** In position order; empty when the filter passed nothing. */
  events: StoredEvent[];
  /** Everything up to here has been given (or filtered out): the checkpoint to resume from. */
  position: Position;
  /** Nothing newer existed when this batch was read. */
  caughtUp: boolean;
}

export interface ReadStreamOptions {
  /** First revision to give; backwards without it: from the newest. */
  from?: number;
  direction?: 'forwards' | 'backwards';
  /** At most this many; without it all. */
  limit?: number;
}

/** Before the first event of a stream. */
export const NO_STREAM = -1;

/** The stream is not at the expected revision: load, decide and append again. */
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

/** The append may or may not have happened: the same event ids at the same expected revision again settle it. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

export interface EventStore {
  /**
   * Appends all events or none.
   * @throws WrongExpectedRevision, OutcomeUnknown, and Refusal `dependency_unavailable` when nothing was written
   */
  append(stream: string, expectedRevision: number, events: readonly EventToAppend[]): Promise<Appended>;
  /** The events of one stream; empty for a stream that does not exist. */
  read(stream: string, options?: ReadStreamOptions): Promise<StoredEvent[]>;
  /** One batch of all events after `position`, at most `limit`. */
  readAll(after: Position, filter: EventFilter | undefined, limit: number): Promise<EventBatch>;
  /**
   * All events after `position`, for ever: ends when the signal aborts. The first batch with `caughtUp` may be empty. One
   * that only says how far it has come past events that the filter leaves out may come up to 50 ms later.
   */
  subscribeAll(after: Position, filter: EventFilter | undefined, signal: AbortSignal): AsyncIterable<EventBatch>;
  /** Keeps only the newest `count` events of a stream from now on. */
  keepNewest(stream: string, count: number): Promise<void>;
  /** Position of the newest event; 0 when there is none. */
  head(): Promise<Position>;
  close(): Promise<void>;
}
