import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { eventNameOf, logIdOf } from './log-id.ts';

describe('the names of a record', () => {
  const record = eventExamples.ChainEventObserved;

  it('follow from its other members', () => {
    expect([logIdOf(record), eventNameOf(record)]).toEqual([record.Id, record.EventName]);
  });

  it('are none without a signature', () => {
    expect(eventNameOf({ EventSignature: 'Transfer' })).toBe('');
  });
});
