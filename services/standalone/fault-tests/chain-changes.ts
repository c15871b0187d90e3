import type { StoredEvent } from '../../../shared/event-store/event-store.ts';

/** An observation or a reversal of a record. */
export interface ChainChange {
  change: 'observed' | 'reverted';
  id: string;
}

const changeOf: Partial<Record<string, ChainChange['change']>> = {
  ChainEventObserved: 'observed',
  ChainEventReverted: 'reverted',
};

/** The changes of records among these events, in order. */
export const chainChanges = (events: readonly StoredEvent[]): ChainChange[] =>
  events.flatMap(({ type, data }) => {
    const change = changeOf[type];
    return change ? [{ change, id: data['Id'] as string }] : [];
  });

/** The records that are canonical after these changes, in order, and the changes that repeat the state of their record. */
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
