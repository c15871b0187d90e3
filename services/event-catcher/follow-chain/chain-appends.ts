import type { ChainEvent, ChainProgressEvent, FollowerEvent } from '../../../schemas/events/chain-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { WrongExpectedRevision, type Appended, type EventStore } from '../../../shared/event-store/event-store.ts';
import { appendConfirmed, toAppend, OutcomeStillUnknown } from '../../../shared/event-store/transact.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { Ids } from '../../../shared/primitives/ids.ts';

export interface AppendDependencies {
  eventStore: EventStore;
  clock: Clock;
  ids: Ids;
}

/** A stream whose end cannot be read, because others write there, is no reason to ask for ever. */
const FENCES_MAX = 50;

type CaughtEvent = ChainEvent | ChainProgressEvent | FollowerEvent;

const metadata: EventMetadata = { correlationId: 'event-catcher', actor: { type: 'system', id: 'event-catcher' } };

/**
 * Everything that one follower of a chain appends. None begins after its signal aborted; of those that began, and of what
 * earlier followers sent, it knows whether any may still arrive (decision 0012).
 */
export class ChainAppends {
  private underWay = 0;

  /** @param areLateExpected whether something that was sent before may still arrive */
  constructor(
    private readonly dependencies: AppendDependencies,
    private readonly signal: AbortSignal,
    private areLateExpected: boolean,
  ) {}

  /** Whether anything may still arrive, now that the signal has aborted. */
  get leavesInFlight(): boolean {
    return this.areLateExpected || this.underWay > 0;
  }

  /** Every stream that could be appended to was fenced. */
  fenced(): void {
    this.areLateExpected = false;
  }

  async append(stream: string, expectedRevision: number, events: readonly CaughtEvent[]): Promise<Appended> {
    const { eventStore } = this.dependencies;
    const identified = events.map((event) => toAppend(event, metadata, this.dependencies));
    this.underWay += 1;
    try {
      return await appendConfirmed(eventStore, stream, expectedRevision, identified, this.signal);
    } catch (error) {
      if (error instanceof OutcomeStillUnknown) this.areLateExpected = true;
      throw error;
    } finally {
      this.underWay -= 1;
    }
  }

  /**
   * Reads a stream. Where something sent before may still arrive there, it also appends behind what it read, which
   * refuses that from then on by its expected revision; what came between is read, too.
   */
  async readFenced<Read extends { newest: Appended }>(
    stream: string,
    read: () => Promise<Read>,
    fence: (read: Read) => CaughtEvent,
  ): Promise<Read> {
    for (let attempt = 1; ; attempt += 1) {
      const found = await read();
      if (!this.areLateExpected) return found;
      try {
        return { ...found, newest: await this.append(stream, found.newest.revision, [fence(found)]) };
      } catch (error) {
        if (!(error instanceof WrongExpectedRevision) || attempt === FENCES_MAX) throw error;
      }
    }
  }
}
