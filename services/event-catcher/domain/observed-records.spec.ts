import { describe, expect, it } from '@jest/globals';
import type { ChainEvent } from '../../../schemas/events/event-catcher/chain-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { changesIn, newestFirst, observedIn } from './observed-records.ts';

const record = (Id: string, BlockNumber = 1, LogIndex = 0) => ({
  ...eventExamples.ChainEventObserved,
  Id,
  BlockNumber,
  LogIndex,
});
/** A stored event with only the members that are used. */
const stored = (type: ChainEvent['type'] | 'FollowerReplaced', Id = ''): StoredEvent =>
  ({ type, data: record(Id) }) as unknown as StoredEvent;

describe('the records in a stream', () => {
  it('are those observed and not reverted since, in the order in which they were observed', () => {
    const events = [
      stored('ChainEventObserved', 'a'),
      stored('ChainEventObserved', 'b'),
      stored('FollowerReplaced'),
      stored('ChainEventObserved', 'c'),
      stored('ChainEventReverted', 'a'),
      stored('ChainEventReverted', 'c'),
      stored('ChainEventObserved', 'a'),
    ];
    expect(observedIn(events).map(({ Id }) => Id)).toEqual(['b', 'a']);
    expect(changesIn(events)).toHaveLength(6);
    expect(observedIn([stored('ChainEventReverted', 'x')])).toEqual([]);
  });

  it('are reverted newest first, by block and then by log', () => {
    const records = [record('a', 2, 1), record('b', 3, 0), record('c', 2, 2)];
    expect(newestFirst(records).map(({ Id }) => Id)).toEqual(['b', 'c', 'a']);
  });
});
