import type { WatchEvent } from '../../../schemas/events/watch-events.ts';
import type { EventStore, Position, StoredEvent } from '../../../shared/event-store/event-store.ts';
import { watchOf, type Watch } from './watched-event.ts';

export type Registration = { position: Position } & (
  { kind: 'registered'; watch: Watch } | { kind: 'extended'; watchId: string; startBlock: number }
);

const types = ['ContractRegistered', 'WatchExtended'] as const;

/**
 * What is registered on one chain, as the event store tells it. Outlives a follower that fails, so that the next one asks
 * only for what is new.
 */
export class Registrations {
  private readonly known: Registration[] = [];
  private upTo: Position = 0;

  constructor(
    private readonly eventStore: Pick<EventStore, 'subscribeAll'>,
    private readonly chainId: number,
  ) {}

  /** Everything that is registered by now. @throws when the signal aborts */
  async all(signal: AbortSignal): Promise<readonly Registration[]> {
    for await (const { caughtUp } of this.news(signal)) if (caughtUp) return [...this.known];
    throw signal.reason;
  }

  /** What comes after a position, in batches, for ever. */
  async follow(
    after: Position,
    signal: AbortSignal,
    take: (added: readonly Registration[], position: Position) => Promise<void>,
  ): Promise<void> {
    const missed = this.known.filter(({ position }) => position > after);
    if (missed.length > 0) await take(missed, this.upTo);
    for await (const { added, position } of this.news(signal)) if (added.length > 0) await take(added, position);
  }

  private async *news(
    signal: AbortSignal,
  ): AsyncGenerator<{ added: readonly Registration[]; position: Position; caughtUp: boolean }> {
    for await (const { events, position, caughtUp } of this.eventStore.subscribeAll(this.upTo, { types }, signal)) {
      const added = this.read(events);
      this.known.push(...added);
      this.upTo = position;
      yield { added, position, caughtUp };
    }
  }

  private read(events: readonly StoredEvent[]): Registration[] {
    const registrations: Registration[] = [];
    for (const stored of events) {
      const event = stored as StoredEvent & WatchEvent;
      if (event.data.chainId !== this.chainId) continue;
      const { position, data } = event;
      registrations.push(
        event.type === 'ContractRegistered'
          ? { kind: 'registered', position, watch: watchOf(event) }
          : { kind: 'extended', position, watchId: data.watchId, startBlock: data.startBlock },
      );
    }
    return registrations;
  }
}
