import type { StoredEvent } from '../../../shared/event-store/event-store.ts';

/** A record that was seen on a chain, or taken back. */
export interface ChainChange {
  change: 'observed' | 'reverted';
  id: string;
}

const changeOf: Partial<Record<string, ChainChange['change']>> = {
  ChainEventObserved: 'observed',
  ChainEventReverted: 'reverted',
};

/** What the event store has of chains, in order. */
export const chainChanges = (events: readonly StoredEvent[]): ChainChange[] =>
  events.flatMap(({ type, data }) => {
    const change = changeOf[type];
    return change ? [{ change, id: data['Id'] as string }] : [];
  });

/** The records that are left after these changes, in order; and the changes of nothing: seen twice, or taken back unseen. */
export const recordsAfter = (changes: readonly ChainChange[]): { records: string[]; repeated: ChainChange[] } => {
  const records = new Set<string>();
  const repeated = changes.filter(({ change, id }) => {
    const isRepeated = records.has(id) === (change === 'observed');
    if (change === 'observed') records.add(id);
    else records.delete(id);
    return isRepeated;
  });
  return { records: [...records], repeated };
};
