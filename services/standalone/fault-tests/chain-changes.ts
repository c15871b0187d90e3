import type { StoredEvent } from '../../../shared/event-store/event-store.ts';

/** A record that was seen on a chain, or taken back. */
export interface ChainChange {
  change: 'observed' | 'reverted';
  id: string;
}

const changes: Partial<Record<string, ChainChange['change']>> = {
  ChainEventObserved: 'observed',
  ChainEventReverted: 'reverted',
};

/** What the event store has of chains, in order. */
export const chainChanges = (events: readonly StoredEvent[]): ChainChange[] =>
  events.flatMap(({ type, data }) => {
    const change = changes[type];
    return change ? [{ change, id: data['Id'] as string }] : [];
  });

/** The records that stand after these changes, in order; and the changes that were no news: seen twice, or taken back unseen. */
export const standingAfter = (told: readonly ChainChange[]): { standing: string[]; noNews: ChainChange[] } => {
  const standing = new Set<string>();
  const noNews = told.filter(({ change, id }) => {
    const isNews = standing.has(id) === (change === 'reverted');
    if (change === 'observed') standing.add(id);
    else standing.delete(id);
    return !isNews;
  });
  return { standing: [...standing], noNews };
};
