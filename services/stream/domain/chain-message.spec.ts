import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { ChainMessage, MessageReader } from './chain-message.ts';
import { channelName } from './channel.ts';
import { Cursors } from '../../../shared/keys/stream-cursors.ts';
import { toDelivery } from './delivery.ts';

const cursors = new Cursors(Buffer.alloc(32, 1));
const record = eventExamples.ChainEventObserved;
const published = ({
  type = 'annals.ChainEventObserved.v1',
  position = '42',
  value = JSON.stringify(record),
}: {
  type?: string;
  position?: string;
  value?: string | null;
} = {}) => ({ key: 'key', headers: { ce_type: type, ce_position: position }, value });

describe('a message of the topic', () => {
  it.each([
    ['annals.ChainEventObserved.v1', 'observed'],
    ['annals.ChainEventReverted.v1', 'reverted'],
  ] as const)('of type %s has the change %s', (type, change) => {
    const message = ChainMessage.parse(published({ type }));
    expect(message).toMatchObject({ key: 'key', position: 42, characters: JSON.stringify(record).length });
    const channel = {
      watchId: 'wch_0123456789abcdefghjkmnpqrs',
      chainId: record.ChainId,
      contractAddress: record.ContractAddress,
      eventSignature: record.EventSignature,
      finality: 'latest' as const,
    };
    expect(message?.delivery(cursors)).toEqual(toDelivery(cursors, channel, { position: 42, change, record }));
    expect(message?.delivery(cursors).channel).toBe(channelName(channel));
  });

  it('is parsed only once', () => {
    const message = ChainMessage.parse(published());
    expect(message?.delivery(cursors)).toBe(message?.delivery(cursors));
  });

  it('is ignored when it is of another type, or has no value or type', () => {
    expect(ChainMessage.parse(published({ type: 'annals.UserLoggedIn.v1' }))).toBeUndefined();
    expect(ChainMessage.parse(published({ value: null }))).toBeUndefined();
    expect(ChainMessage.parse({ key: '', headers: {}, value: '{}' })).toBeUndefined();
  });

  it.each(['', 'x', '0', '-1', '1.5', '9'.repeat(20)])('is refused when its position is %j', (position) => {
    expect(() => ChainMessage.parse(published({ position }))).toThrow('ce_position');
  });

  it('can have position 1', () => {
    expect(ChainMessage.parse(published({ position: '1' }))?.position).toBe(1);
  });
});

describe('a message reader', () => {
  const reported: unknown[] = [];
  const reader = new MessageReader(cursors, (error, key) => reported.push([key, String(error)]));

  it('returns messages and deliveries that can be read', () => {
    const message = reader.message(published());
    expect(message?.position).toBe(42);
    expect(message && reader.delivery(message)?.position).toBe(42);
    expect(reported).toEqual([]);
  });

  it('reports a message that cannot be read, and goes on', () => {
    expect(reader.message(published({ position: 'x' }))).toBeUndefined();
    const message = reader.message(published({ value: '{}' }));
    expect(message && reader.delivery(message)).toBeUndefined();
    expect(reported).toEqual([
      ['key', expect.stringContaining('ce_position')],
      ['key', expect.stringContaining('ChainId')],
    ]);
  });
});
