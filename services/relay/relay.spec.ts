import { expect, it } from '@jest/globals';
import { reportedMessageBus } from '../../shared/host/health/message-bus-report.ts';
import { MemoryMessageBus } from '../../shared/testing/engines/message-bus.memory.ts';
import { eventually } from '../../shared/testing/eventually.ts';
import { inSimulatedTime } from '../../shared/testing/simulation/simulated-globals.ts';
import { testFoundation } from '../../shared/testing/test-foundation.ts';
import { startRelay } from './relay.ts';

it('a relay tells the read store whether the message bus answers', () =>
  inSimulatedTime(async () => {
    const foundation = { ...(await testFoundation()), messageBus: new MemoryMessageBus() };
    const { messageBus, readStore } = foundation;
    const told = () => reportedMessageBus(readStore);
    expect(await told()).toBeUndefined();
    const relay = startRelay(foundation);
    const offsets = messageBus.offsets.bind(messageBus);
    await eventually(async () => (await told()) === 'up', 3_000, 'the message bus must be up');
    messageBus.offsets = () => Promise.reject(new Error('down'));
    await eventually(async () => (await told()) === 'down', 3_000, 'the message bus must be down');
    messageBus.offsets = offsets;
    await eventually(async () => (await told()) === 'up', 3_000, 'the message bus must be up again');
    await relay.close();
  }));
