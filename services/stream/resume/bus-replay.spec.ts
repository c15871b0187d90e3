import { describe, expect, it } from '@jest/globals';
import { topics, type Topic } from '../../../schemas/topics.ts';
import { MemoryMessageBus } from '../../../shared/testing/engines/message-bus.memory.ts';
import type { Offsets } from '../../../shared/message-bus/message-bus.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { MessageReader } from '../domain/chain-message.ts';
import { Cursors } from '../../../shared/keys/stream-cursors.ts';
import { MemoryReadStore } from '../../../shared/testing/engines/read-store.memory.ts';
import { TestClock } from '../../../shared/testing/test-foundation.ts';
import { aRecord, CHAIN_ID, FakeCatcher, newContract, TRANSFER } from '../testing/fake-catcher.ts';
import { BusReplay } from './bus-replay.ts';

const HOUR_MS = 3_600_000;

/** A bus whose messages are deleted as soon as their offsets were queried. */
class ForgetfulBus extends MemoryMessageBus {
  override async offsets(topic: Topic, at: 'earliest' | 'latest' | number): Promise<Offsets> {
    const offsets = await super.offsets(topic, 'latest');
    return at === 'latest' ? new Map(Array.from(offsets, ([partition, end]) => [partition, `${end}1`])) : offsets;
  }
}

describe('the search for the first message of a topic whose messages are deleted meanwhile', () => {
  const contractAddress = newContract();
  const channel = {
    watchId: 'wch_1',
    chainId: CHAIN_ID,
    contractAddress,
    eventSignature: TRANSFER,
    finality: 'latest',
  } as const;
  const firstPosition = async (readTimeoutMs: number, signal = new AbortController().signal) => {
    const messageBus = new ForgetfulBus();
    await messageBus.createTopics([topics.chainEvents]);
    const reader = new MessageReader(new Cursors(new Uint8Array(32)), () => undefined);
    return new BusReplay({
      messageBus,
      genuine: { filter: (messages) => Promise.resolve([...messages]) },
      reader,
      clock: systemClock,
      readTimeoutMs,
    }).firstPosition(channel, signal);
  };

  it('is refused as unavailable, and may be repeated', async () => {
    const refusal = firstPosition(50);
    await expect(refusal).rejects.toMatchObject({ code: 'dependency_unavailable', retryAfter: 1 });
  });

  it('ends at once when it is aborted', async () => {
    const leaving = new AbortController();
    const search = firstPosition(HOUR_MS, leaving.signal);
    leaving.abort(new Error('the client left'));
    await expect(search).rejects.toThrow('the client left');
  });
});

it('a replay reads on where the topic has grown meanwhile, and ends at its end', async () => {
  const contractAddress = newContract();
  const clock = new TestClock();
  const messageBus = new MemoryMessageBus();
  await messageBus.createTopics([topics.chainEvents]);
  const catcher = new FakeCatcher(messageBus, new MemoryReadStore(), () => clock.now(), new Uint8Array(32));
  const publish = async (block: number) => {
    const { position } = catcher.store('observed', aRecord({ contractAddress, block }));
    await catcher.publish();
    clock.time += 5_000;
    return position;
  };
  const replay = new BusReplay({
    messageBus,
    genuine: { filter: (messages) => Promise.resolve([...messages]) },
    reader: new MessageReader(new Cursors(new Uint8Array(32)), () => undefined),
    clock,
  });
  const channel = {
    ...{ watchId: `wch_${contractAddress}${TRANSFER}`, chainId: CHAIN_ID, contractAddress },
    ...{ eventSignature: TRANSFER, finality: 'latest' as const },
  };
  const published = [await publish(1)];
  const read: number[] = [];
  for await (const { deliveries } of replay.changesAfter(channel, 0, new AbortController().signal)) {
    read.push(...deliveries.map(({ position }) => position));
    if (published.length < 4) published.push(await publish(published.length + 1));
  }
  expect(read).toEqual(published);
});
