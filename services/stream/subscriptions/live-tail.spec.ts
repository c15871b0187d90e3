import { expect, it } from '@jest/globals';
import { topics } from '../../../schemas/topics.ts';
import { MemoryMessageBus } from '../../../shared/message-bus/message-bus.memory.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { Cursors } from '../domain/cursor.ts';
import { MessageReader } from '../domain/chain-message.ts';
import { LiveTail } from './live-tail.ts';

it('a topic that is another one now, and empty, leaves nothing to be read', async () => {
  const reader = new MessageReader(new Cursors(new Uint8Array(32)), () => undefined);
  const options = { messageBus: new MemoryMessageBus(), reader, clock: systemClock, onMessage: () => false };
  const tail = new LiveTail(options);
  await options.messageBus.createTopics([topics.chainEvents]);
  await options.messageBus.publish(topics.chainEvents, [{ key: 'k', headers: {}, value: '1', timestamp: 0 }]);
  await tail.findStart();
  expect(tail.isCaughtUp).toBe(false);
  options.messageBus = new MemoryMessageBus();
  await tail.findStart();
  expect(tail.isCaughtUp).toBe(true);
});
