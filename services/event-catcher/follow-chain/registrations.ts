import type { WatchEvent } from '../../../schemas/events/watch-events.ts';
import type { EventStore, Position, StoredEvent } from '../../../shared/event-store/event-store.ts';
import { watchOf, type Watch } from './watched-event.ts';

export type Registration = { position: Position } & (
  { kind: 'registered'; watch: Watch } | { kind: 'extended'; watchId: string; startBlock: number }
);

const types = ['ContractRegistered', 'WatchExtended'] as const;
const READ_EVENTS_MAX = 2_000;

/** What is registered on one chain, as the event store tells it. */
export class Registrations {
  constructor(
    private readonly eventStore: EventStore,
    private readonly chainId: number,
  ) {}

  /** Everything up to a position, inclusive. */
  async until(position: Position): Promise<Registration[]> {
    const registrations: Registration[] = [];
    let after = 0;
    while (after < position) {
      const batch = await this.eventStore.readAll(after, { types }, READ_EVENTS_MAX);
      registrations.push(...this.read(batch.events.filter((event) => event.position <= position)));
      after = batch.position;
    }
    return registrations;
  }

  /** What comes after a position, in batches, for ever. */
  async follow(
    after: Position,
    signal: AbortSignal,
    take: (added: readonly Registration[], position: Position) => Promise<void>,
  ): Promise<void> {
    for await (const { events, position } of this.eventStore.subscribeAll(after, { types }, signal)) {
      const added = this.read(events);
      if (added.length > 0) await take(added, position);
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
