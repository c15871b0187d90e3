import type { ChainEvent, ObservedRecord } from '../../../schemas/events/event-catcher/chain-events.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';

/** Returns the observations and reversals among the events of a contract's stream. */
export const changesIn = (events: readonly StoredEvent[]): (StoredEvent & ChainEvent)[] =>
  events.filter(
    (event): event is StoredEvent & ChainEvent =>
      event.type === 'ChainEventObserved' || event.type === 'ChainEventReverted',
  );

/** The key of a record: one log may have a record for each of several watches. */
export const recordKey = (record: ObservedRecord): string => `${record.Id}/${record.WatchId}`;

/** Returns the records that were observed and not reverted since. */
export const observedIn = (events: readonly StoredEvent[]): ObservedRecord[] => {
  const observed = new Map<string, ObservedRecord>();
  for (const { type, data } of changesIn(events)) {
    const key = recordKey(data);
    observed.delete(key);
    if (type === 'ChainEventObserved') observed.set(key, data);
  }
  return [...observed.values()];
};

/** Sorts records into the order in which they are reverted. */
export const newestFirst = (records: readonly ObservedRecord[]): ObservedRecord[] =>
  records.toSorted((left, right) => right.BlockNumber - left.BlockNumber || right.LogIndex - left.LogIndex);
