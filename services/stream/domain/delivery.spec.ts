import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { channel } from '../testing/some-subscription.ts';
import { channelName, cursorScope } from './channel.ts';
import { Cursors, resumePointAfter } from '../../../shared/keys/stream-cursors.ts';
import { toDelivery } from './delivery.ts';

const cursors = new Cursors(Buffer.alloc(32, 1));
const record = eventExamples.ChainEventObserved;

describe('a delivery', () => {
  it.each([
    ['latest', 'observed', {}, 'observed'],
    ['latest', 'reverted', {}, 'reverted'],
    ['latest', 'observed', { status: 'finalized' }, 'finalized'],
    ['finalized', 'observed', { status: 'finalized' }, 'finalized'],
  ] as const)(
    'on a channel with finality %s, of the change %s %j, has the status %s',
    (finality, change, is, status) => {
      const of = { ...channel, finality };
      const { json, ...delivery } = toDelivery(cursors, of, { position: 42, change, ...is, record });
      const cursor = cursors.write(cursorScope(of), resumePointAfter(42));
      expect(delivery).toEqual({ channel: channelName(of), position: 42, blockNumber: record.BlockNumber, cursor });
      expect(JSON.parse(json)).toEqual({
        channel: channelName(of),
        cursor,
        change,
        event: { ...record, WatchId: 'wch_1', Status: status },
      });
    },
  );
});
