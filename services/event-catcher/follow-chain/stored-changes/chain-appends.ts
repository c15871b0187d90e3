import type {
  AsideEvent,
  ChainEvent,
  ChainProgressEvent,
  ChainVerificationEvent,
  FollowerEvent,
} from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import {
  NO_STREAM,
  WrongExpectedRevision,
  type Appended,
  type EventStore,
  type EventToAppend,
} from '../../../../shared/event-store/event-store.ts';
import {
  appendConfirmed,
  OutcomeStillUnknown,
  stamp,
  toAppend,
} from '../../../../shared/event-store/transactions/transact.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import type { Ids } from '../../../../shared/primitives/ids.ts';

export interface AppendDependencies {
  eventStore: EventStore;
  clock: Clock;
  ids: Ids;
}

/** Stands for the newest event of an empty stream. */
export const NO_EVENT: Appended = { revision: NO_STREAM, position: 0 };

/** Maximum size of one append: EventStoreDB takes at most 1 MiB. */
const BYTES_MAX = 900_000;
/** Approximate size of what an event has besides its data: its ids, type and metadata. */
const OVERHEAD_BYTES = 250;
/** How many times the follower tries to fence a stream (so that late appends are refused) while such appends arrive. */
const FENCE_ATTEMPTS_MAX = 50;

type CaughtEvent = AsideEvent | ChainEvent | ChainProgressEvent | ChainVerificationEvent | FollowerEvent;

export const followerMetadata: EventMetadata = {
  correlationId: 'event-catcher',
  actor: { type: 'system', id: 'event-catcher' },
};

/**
 * Appends the events of one follower, which reads a chain. No append begins after the follower's signal has aborted.
 * Tracks whether an append of this follower, or of an earlier one, may still arrive (decision 0012).
 */
export class ChainAppends {
  private inFlight = 0;

  /** @param isUnfenced whether an append of an earlier follower may still arrive and be stored */
  constructor(
    private readonly dependencies: AppendDependencies,
    private readonly signal: AbortSignal,
    private isUnfenced: boolean,
  ) {}

  /** Whether an append that was sent, by this follower or an earlier one, may still arrive and be stored. */
  get mayStillBeStored(): boolean {
    return this.isUnfenced || this.inFlight > 0;
  }

  /** Notes that late appends of earlier followers are now refused in every stream of the chain. */
  fenced(): void {
    this.isUnfenced = false;
  }

  /** Appends events to a stream, as many per append as the event store takes. @returns the stream's newest event */
  async append(stream: string, newest: Appended, events: readonly CaughtEvent[]): Promise<Appended> {
    let last = newest;
    for (const chunk of appendChunks(this.written(events))) last = await this.appendChunk(stream, last.revision, chunk);
    return last;
  }

  /**
   * Gives events their ids and metadata. Of events with records, only the first is checked against the schema: one
   * function makes all records from checked logs.
   */
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
   * Reads a stream. If an append of an earlier follower may still arrive, also appends a fence, an event after those
   * that were read: the late append is then refused, because its expected revision is wrong. If the late append arrives
   * before the fence, reads the stream again.
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
 * Splits events, in order, into chunks of at most `BYTES_MAX` for one append each. An event that is too large gets a
 * chunk of its own, which the event store accepts or refuses.
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
