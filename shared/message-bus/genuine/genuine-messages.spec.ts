import { beforeEach, describe, expect, it } from '@jest/globals';
import { topics } from '../../../schemas/topics.ts';
import { testFoundation, type TestFoundation } from '../../testing/test-foundation.ts';
import type { BusMessage, MessageToPublish } from '../message-bus.ts';
import { MemoryMessageBus } from '../../testing/engines/message-bus.memory.ts';
import { GenuineMessages } from './genuine-messages.ts';
import { MAC_HEADER, MessageMacs } from './message-macs.ts';
import { recordSignedFrom } from './signed-from.ts';

const topic = topics.chainEvents;
const macs = new MessageMacs(Buffer.alloc(32, 7));
const message: MessageToPublish = {
  key: 'eip155:1/0x1',
  headers: {
    'content-type': 'application/json',
    ce_id: '1',
    ce_position: '5',
    ce_type: 'annals.ChainEventObserved.v1',
  },
  value: '{"amount":"1"}',
  timestamp: 0,
};

describe('messages of a topic that others may write to', () => {
  let foundation: TestFoundation;
  let messageBus: MemoryMessageBus;
  let genuine: GenuineMessages;
  beforeEach(async () => {
    foundation = await testFoundation();
    messageBus = new MemoryMessageBus();
    genuine = new GenuineMessages(topic, { ...foundation, messageBus, macs });
  });

  const received = (published: MessageToPublish, more: Partial<BusMessage> = {}): BusMessage => ({
    ...published,
    partition: messageBus.partitionOf(topic, published.key),
    offset: '7',
    ...more,
  });
  const refused = async () =>
    Object.fromEntries(
      (await genuine.measured.read()).map(({ labels, value }) => [labels['reason'] ?? '', value] as const),
    ) as Record<string, number>;
  const warnings = () => foundation.logged.map(({ reason, msg }) => [reason, msg]);

  it("are the relay's if they have its signature, in whichever order their headers come", async () => {
    const { headers, ...signed } = macs.sign(topic, message);
    const reversed = { ...signed, headers: Object.fromEntries(Object.entries(headers).reverse()) };
    expect(await genuine.filter([received(reversed)])).toEqual([received(reversed)]);
    expect(headers[MAC_HEADER]).toMatch(/^[\w-]{22}$/);
    expect(warnings()).toEqual([]);
  });

  it.each<[string, Partial<MessageToPublish>]>([
    ['key', { key: 'eip155:1/0x2' }],
    ['value', { value: '{"amount":"2"}' }],
    ['value, without one', { value: null }],
    ['position', { headers: { ...message.headers, ce_position: '1000000000005' } }],
    ['type', { headers: { ...message.headers, ce_type: 'annals.ChainEventReverted.v1' } }],
    ['further attribute', { headers: { ...message.headers, ce_more: '1' } }],
  ])('are skipped, counted and said if another %s was signed', async (_, forged) => {
    const { [MAC_HEADER]: mac = '' } = macs.sign(topic, message).headers;
    const changed = { ...message, ...forged };
    const copy = { ...changed, headers: { ...changed.headers, [MAC_HEADER]: mac } };
    const own = macs.sign(topic, message);
    expect(await genuine.filter([received(copy), received(own)])).toEqual([received(own)]);
    expect(await refused()).toEqual({ forged: 1, unsigned: 0, misplaced: 0, ahead: 0 });
    expect(warnings()).toEqual([
      ['forged', `a message of ${topic.name} is not from the relay and is skipped: its signature is wrong`],
    ]);
  });

  it.each([
    ['another key signed them', new MessageMacs(Buffer.alloc(32, 8)).sign(topic, message)],
    ['they were signed for another topic', macs.sign(topics.users, message)],
    ['their signature is no base64url', { ...message, headers: { ...message.headers, [MAC_HEADER]: '*' } }],
  ])('are skipped if %s', async (_, forged) => {
    expect(await genuine.filter([received(forged)])).toEqual([]);
  });

  it('are not looked for where nobody else can write', async () => {
    messageBus = new MemoryMessageBus(undefined, true);
    genuine = new GenuineMessages(topic, { ...foundation, messageBus, macs });
    expect(await genuine.filter([received(message)])).toEqual([received(message)]);
  });

  it('are skipped in a partition where their key does not belong, where their position would hide others', async () => {
    const own = received(macs.sign(topic, message));
    const misplaced = { ...own, partition: (own.partition + 1) % topic.partitions };
    expect(await genuine.filter([misplaced, own])).toEqual([own]);
    expect(await refused()).toMatchObject({ misplaced: 1 });
  });

  it('may be unsigned only where a relay published them that did not sign: before the first signed one', async () => {
    const partition = messageBus.partitionOf(topic, message.key);
    await messageBus.createTopics([topic]);
    await messageBus.publish(topic, [message, message]);
    await recordSignedFrom({ messageBus, readStore: foundation.readStore }, topic, 5);
    await messageBus.publish(topic, [message]);
    await recordSignedFrom({ messageBus, readStore: foundation.readStore }, topic, 9);
    const at = (offset: string, position = '5') =>
      received({ ...message, headers: { ...message.headers, ce_position: position } }, { partition, offset });
    expect(await genuine.filter([at('0'), at('1'), at('2'), at('0', '6')])).toEqual([at('0'), at('1')]);
    expect(await refused()).toMatchObject({ unsigned: 2 });
  });

  it('may not be unsigned where everything will be published again', async () => {
    await messageBus.createTopics([topic]);
    await messageBus.publish(topic, [message]);
    await recordSignedFrom({ messageBus, readStore: foundation.readStore }, topic, 0);
    expect(await genuine.filter([received(message, { offset: '0' })])).toEqual([]);
  });

  it('may be unsigned while no relay has signed yet, up to the head of the event store', async () => {
    expect(await genuine.filter([received(message)])).toEqual([]);
    foundation.eventStore.head = () => Promise.resolve(5);
    expect(await genuine.filter([received(message)])).toEqual([received(message)]);
    expect(await refused()).toMatchObject({ ahead: 1 });
  });
});
