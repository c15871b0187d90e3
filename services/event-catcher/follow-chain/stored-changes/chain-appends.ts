import type {
  AsideEvent,
  ChainEvent,
  ChainProgressEvent,
  ChainVerificationEvent,
  FollowerEvent,
} from '../../../../schemas/events/chain-events.ts';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import {
  WrongExpectedRevision,
  type Appended,
  type EventStore,
  type EventToAppend,
} from '../../../../shared/event-store/event-store.ts';
import { appendConfirmed, OutcomeStillUnknown, stamp, toAppend } from '../../../../shared/event-store/transact.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import type { Ids } from '../../../../shared/primitives/ids.ts';

export interface AppendDependencies {
  eventStore: EventStore;
  clock: Clock;
  ids: Ids;
}

/** EventStoreDB takes 1 MiB in one append. */
const BYTES_MAX = 900_000;
/** The size of an event's ids, type and metadata. */
const OVERHEAD_BYTES = 250;
/** How often a stream to which others keep appending is read again before the follower gives up. */
const FENCE_ATTEMPTS_MAX = 50;

type CaughtEvent = AsideEvent | ChainEvent | ChainProgressEvent | ChainVerificationEvent | FollowerEvent;

/** Of everything that a follower stores. */
export const followerMetadata: EventMetadata = {
  correlationId: 'event-catcher',
  actor: { type: 'system', id: 'event-catcher' },
};

/**
 * Appends the events of one follower of a chain. No append begins after its signal has aborted. It knows whether an
 * append that it or an earlier follower sent may still be stored (decision 0012).
 */
export class ChainAppends {
  private inFlight = 0;

  /** @param isUnfenced whether an append that was sent before may still be stored */
  constructor(
    private readonly dependencies: AppendDependencies,
    private readonly signal: AbortSignal,
    private isUnfenced: boolean,
  ) {}

  /** Whether an append that was sent may still be stored after the signal has aborted. */
  get mayStillBeStored(): boolean {
    return this.isUnfenced || this.inFlight > 0;
  }

  /** Notes that every stream to which earlier followers could append has been fenced. */
  fenced(): void {
    this.isUnfenced = false;
  }

  /** Appends events in order, as many at once as the event store takes. @returns the newest event of the stream */
  async append(stream: string, newest: Appended, events: readonly CaughtEvent[]): Promise<Appended> {
    let last = newest;
    for (const chunk of appendChunks(this.written(events))) last = await this.appendChunk(stream, last.revision, chunk);
    return last;
  }

  /** Of records, which one function makes of logs that were checked, the first one shows that they fit their schema. */
  private *written(events: readonly CaughtEvent[]): Generator<EventToAppend & { dataText: string }> {
    const { dependencies } = this;
    for (const [at, event] of events.entries()) {
      const made = at > 0 && isOfRecord(event) ? stamp : toAppend;
      yield Object.assign(made(event, followerMetadata, dependencies), { dataText: JSON.stringify(event.data) });
    }
  }

  private async appendChunk(stream: string, revision: number, events: readonly EventToAppend[]): Promise<Appended> {
    this.inFlight += 1;
    try {
      return await appendConfirmed(this.dependencies.eventStore, stream, revision, events, this.signal);
    } catch (error) {
      if (error instanceof OutcomeStillUnknown) this.isUnfenced = true;
      throw error;
    } finally {
      this.inFlight -= 1;
    }
  }

  /**
   * Reads a stream. If an append that was sent before may still be stored, it also appends an event after what it read:
   * the earlier append then fails, because its expected revision is wrong. If that append came first, the stream is
   * read again.
   */
  async readFenced<Read extends { newest: Appended }>(
    stream: string,
    read: () => Promise<Read>,
    fence: (read: Read) => CaughtEvent,
  ): Promise<Read> {
    for (let attempt = 1; ; attempt += 1) {
      const found = await read();
      if (!this.isUnfenced) return found;
      try {
        return { ...found, newest: await this.append(stream, found.newest, [fence(found)]) };
      } catch (error) {
        if (!(error instanceof WrongExpectedRevision) || attempt === FENCE_ATTEMPTS_MAX) throw error;
      }
    }
  }
}

const isOfRecord = ({ type }: CaughtEvent): boolean => type === 'ChainEventObserved' || type === 'ChainEventReverted';

/**
 * Splits events into appends, in order. An event that is too large gets one of its own, and the event store decides.
 */
export function* appendChunks<Event extends { dataText: string }>(events: Iterable<Event>): Generator<Event[]> {
  let chunk: Event[] = [];
  let bytes = 0;
  for (const event of events) {
    const size = Buffer.byteLength(event.dataText) + OVERHEAD_BYTES;
    if (bytes + size > BYTES_MAX && chunk.length > 0) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(event);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}
