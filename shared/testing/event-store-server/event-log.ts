import { firstIndex } from '../../primitives/first-index.ts';
import { WakeUp } from '../../primitives/waiting/wake-up.ts';

/** An event of an append request. */
export interface ProposedEvent {
  id: string;
  type: string;
  contentType: string;
  data: Uint8Array;
  metadata: Uint8Array;
}

export interface LoggedEvent {
  position: number;
  stream: string;
  revision: number;
  id: string;
  type: string;
  /** Unix milliseconds by the server's clock. */
  createdAt: number;
  /** The encoded message that every reader receives. */
  message: Buffer;
}

export type Expectation = number | 'any' | 'no-stream' | 'stream-exists';

/** `actual` is the newest revision, -1 without any. Without `position` it repeats an append whose events are hidden. */
export type Outcome =
  | { kind: 'written'; revision: number; position: number | undefined }
  | { kind: 'conflict'; actual: number }
  | { kind: 'deleted' };

export type Encode = (event: ProposedEvent, location: Pick<LoggedEvent, 'stream' | 'revision' | 'position'>) => Buffer;

interface Stream {
  /** All events ever written; the index is the revision. */
  events: LoggedEvent[];
  maxCount: number;
  maxAgeMs: number;
  truncateBefore: number;
  isTombstoned: boolean;
}

/** Approximately where a real log begins to hold user events. */
const FIRST_POSITION = 1_000;
const RECORD_OVERHEAD_BYTES = 100;
/** How far back an append without an expected revision looks for its ids. */
const IDS_KEPT = 1_000;
/** `$tb` of a deleted stream: the largest possible revision. */
const DELETED = '9223372036854775807';

/**
 * The streams of one store and their global order, in memory: the decisions of an EventStoreDB server without its
 * protocol.
 */
export class EventLog {
  /** In position order. */
  readonly all: LoggedEvent[] = [];
  readonly appended = new WakeUp();
  private readonly streams = new Map<string, Stream>();
  private nextPosition = FIRST_POSITION;

  /** @param now the server's clock, in Unix milliseconds */
  constructor(
    private readonly encode: Encode,
    private readonly now: () => number,
  ) {}

  /** The position of the next event. */
  get end(): number {
    return this.nextPosition;
  }

  append(name: string, expected: Expectation, proposed: readonly ProposedEvent[]): Outcome {
    const stream = this.stream(name);
    if (stream.isTombstoned) return { kind: 'deleted' };
    const actual = stream.events.length - 1;
    const decided = this.decide(stream, expected, proposed);
    if (decided !== 'write') return decided;
    if (isDeleted(stream)) this.setMetadata(name, `{"$tb":${String(actual + 1)}}`);
    for (const event of proposed) this.write(name, stream, event);
    if (name.startsWith('$$')) this.applyMetadata(name.slice(2), proposed.at(-1));
    this.appended.ring();
    return written(stream);
  }

  /** Hides the events written so far. Later revisions continue after them. */
  delete(name: string, expected: Expectation): Outcome {
    const refused = this.refuseRemoval(name, expected);
    if (refused) return refused;
    this.setMetadata(name, `{"$tb":${DELETED}}`);
    return { kind: 'written', revision: this.stream(name).events.length - 1, position: this.all.at(-1)?.position ?? 0 };
  }

  /** Ends a stream permanently. */
  tombstone(name: string, expected: Expectation): Outcome {
    const refused = this.refuseRemoval(name, expected);
    if (refused) return refused;
    const stream = this.stream(name);
    stream.isTombstoned = true;
    return written(stream);
  }

  /** Copies the events of another log that this one lacks, as a follower does from its leader. */
  copyFrom(other: EventLog): void {
    for (const event of other.all.slice(this.all.length)) {
      this.all.push(event);
      this.stream(event.stream).events.push(event);
    }
    for (const [name, { events: _, ...settings }] of other.streams) Object.assign(this.stream(name), settings);
    this.nextPosition = other.nextPosition;
    this.appended.ring();
  }

  /** Returns the readable events of a stream, and their first revision. */
  readable(name: string): {
    events: readonly LoggedEvent[];
    first: number;
    state: 'present' | 'missing' | 'tombstoned';
  } {
    const stream = this.stream(name);
    const state = stream.isTombstoned
      ? 'tombstoned'
      : stream.events.length === 0 || isDeleted(stream)
        ? 'missing'
        : 'present';
    return {
      events: stream.events,
      first: this.firstReadable(stream),
      state,
    };
  }

  /** Returns the index in `all` of the first event at or after a position. */
  indexFrom(position: number): number {
    return firstIndex(this.all, (event) => event.position >= position);
  }

  private decide(stream: Stream, expected: Expectation, proposed: readonly ProposedEvent[]): Outcome | 'write' {
    const actual = stream.events.length - 1;
    if (expected === 'stream-exists' && (actual === -1 || isDeleted(stream))) return { kind: 'conflict', actual };
    if (expected === 'any' || expected === 'stream-exists') {
      const [first] = proposed;
      const kept = stream.events.slice(-IDS_KEPT);
      const at = kept.findLastIndex(({ id }) => id === first?.id);
      return at === -1
        ? 'write'
        : (this.repeatOf(stream, proposed, kept[at]?.revision ?? 0) ?? { kind: 'conflict', actual });
    }
    const after = expected === 'no-stream' ? -1 : expected;
    if (after === actual) return 'write';
    const repeat = after < actual ? this.repeatOf(stream, proposed, after + 1) : undefined;
    if (repeat) return repeat;
    return expected === 'no-stream' && isDeleted(stream) ? 'write' : { kind: 'conflict', actual };
  }

  private refuseRemoval(name: string, expected: Expectation): Outcome | undefined {
    const stream = this.stream(name);
    const actual = stream.events.length - 1;
    if (stream.isTombstoned) return { kind: 'deleted' };
    const isAsExpected =
      expected === 'any' ||
      (expected === 'stream-exists' ? actual >= 0 : (expected === 'no-stream' ? -1 : expected) === actual);
    return isAsExpected ? undefined : { kind: 'conflict', actual };
  }

  private write(name: string, stream: Stream, event: ProposedEvent): void {
    const location = { stream: name, revision: stream.events.length, position: this.nextPosition };
    this.nextPosition += RECORD_OVERHEAD_BYTES + event.data.length + event.metadata.length;
    const { id, type } = event;
    const logged = { ...location, id, type, createdAt: this.now(), message: this.encode(event, location) };
    stream.events.push(logged);
    this.all.push(logged);
  }

  private setMetadata(name: string, json: string): void {
    const event = {
      id: crypto.randomUUID(),
      type: '$metadata',
      contentType: 'application/json',
      data: Buffer.from(json),
      metadata: Buffer.alloc(0),
    };
    this.append(`$$${name}`, 'any', [event]);
  }

  private applyMetadata(name: string, metadata: ProposedEvent | undefined): void {
    if (!metadata) return;
    const stream = this.stream(name);
    const parsed = JSON.parse(Buffer.from(metadata.data).toString()) as {
      $maxCount?: number;
      $maxAge?: number;
      $tb?: number;
    };
    stream.maxCount = parsed.$maxCount ?? Infinity;
    stream.maxAgeMs = (parsed.$maxAge ?? Infinity) * 1_000;
    stream.truncateBefore = parsed.$tb ?? 0;
  }

  /** Events that are too old cannot be read any more, even if there are no others. */
  private firstReadable({ events, maxCount, maxAgeMs, truncateBefore }: Stream): number {
    const young = firstIndex(events, ({ createdAt }) => createdAt > this.now() - maxAgeMs);
    return Math.max(truncateBefore, events.length - maxCount, young, 0);
  }

  /** The same ids at the same revisions are the same append. If only some match, it is a conflict. */
  private repeatOf(stream: Stream, proposed: readonly ProposedEvent[], from: number): Outcome | undefined {
    const { events } = stream;
    const isRepeat = proposed.every(({ id }, index) => events[from + index]?.id === id);
    const last = events[from + proposed.length - 1];
    if (!isRepeat || !last) return undefined;
    const { revision, position } = last;
    return { kind: 'written', revision, position: revision < this.firstReadable(stream) ? undefined : position };
  }

  private stream(name: string): Stream {
    let stream = this.streams.get(name);
    if (!stream) {
      stream = { events: [], maxCount: Infinity, maxAgeMs: Infinity, truncateBefore: 0, isTombstoned: false };
      this.streams.set(name, stream);
    }
    return stream;
  }
}

const isDeleted = ({ truncateBefore }: Stream): boolean => truncateBefore > Number.MAX_SAFE_INTEGER;

const written = ({ events }: Stream): Outcome => ({
  kind: 'written',
  revision: events.length - 1,
  position: events.at(-1)?.position ?? 0,
});
