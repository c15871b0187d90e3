import { expect, it } from '@jest/globals';
import { LazyStoredEvent } from './stored-event.ts';

it('a stored event is parsed once, when somebody looks', () => {
  const stored = (data: string, metadata: string) =>
    new LazyStoredEvent(1, 'user-1', 0, 'id', 'Happened', 1, 0, data, metadata);
  const event = stored('{"a":1}', '{"correlationId":"request-1"}');
  expect([event.data, event.metadata]).toEqual([{ a: 1 }, { correlationId: 'request-1' }]);
  expect(event.data).toBe(event.data);
  expect(event.metadata).toBe(event.metadata);
  expect(stored('not read', 'not read').dataText).toBe('not read');
});

it('events that share their metadata share what parses it, and only when somebody looks', () => {
  let parsed = 0;
  const shared = () => {
    parsed += 1;
    return { correlationId: 'request-1', actor: { type: 'system', id: 'test' } } as const;
  };
  const event = new LazyStoredEvent(1, 'user-1', 0, 'id', 'Happened', 1, 0, '{"a":1}', shared);
  expect([event.data, parsed]).toEqual([{ a: 1 }, 0]);
  expect([event.metadata.correlationId, parsed]).toEqual(['request-1', 1]);
});
