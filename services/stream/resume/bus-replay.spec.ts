import { describe, expect, it } from '@jest/globals';
import { topics, type Topic } from '../../../schemas/topics.ts';
import { MemoryMessageBus } from '../../../shared/testing/engines/message-bus.memory.ts';
import type { Offsets } from '../../../shared/message-bus/message-bus.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { MessageReader } from '../domain/chain-message.ts';
import { Cursors } from '../../../shared/keys/stream-cursors.ts';
import { CHAIN_ID, newContract, TRANSFER } from '../testing/fake-catcher.ts';
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
