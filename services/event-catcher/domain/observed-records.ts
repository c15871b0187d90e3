import type { ChainEvent, ObservedRecord } from '../../../schemas/events/chain-events.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';

/** What was seen of a contract, of all that its stream holds. */
export const changesIn = (events: readonly StoredEvent[]): (StoredEvent & ChainEvent)[] =>
  events.filter(
    (event): event is StoredEvent & ChainEvent =>
      event.type === 'ChainEventObserved' || event.type === 'ChainEventReverted',
  );

/** The records that were observed and not reverted since. */
export const observedIn = (events: readonly StoredEvent[]): ObservedRecord[] => {
  const observed = new Map<string, ObservedRecord>();
  for (const { type, data } of changesIn(events)) {
    observed.delete(data.Id);
    if (type === 'ChainEventObserved') observed.set(data.Id, data);
  }
  return [...observed.values()];
};

/** As records are reverted. */
export const newestFirst = (records: readonly ObservedRecord[]): ObservedRecord[] =>
  records.toSorted((left, right) => right.BlockNumber - left.BlockNumber || right.LogIndex - left.LogIndex);
