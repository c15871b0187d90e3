import { describe, expect, it } from '@jest/globals';
import { topics, type Topic } from '../../../schemas/topics.ts';
import { SignedText } from '../../../shared/keys/signed-text.ts';
import { MemoryMessageBus } from '../../../shared/message-bus/message-bus.memory.ts';
import type { Offsets } from '../../../shared/message-bus/message-bus.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { MessageReader } from '../domain/chain-message.ts';
import { Cursors, resumePointAfter } from '../domain/cursor.ts';
import { CHAIN_ID, newContract, TRANSFER } from '../testing/fake-catcher.ts';
import { BusReplay } from './bus-replay.ts';
import { startStopwatch } from '../../../shared/testing/stopwatch.ts';

/** A bus whose messages are deleted as soon as their offsets were queried. */
class ForgetfulBus extends MemoryMessageBus {
  override async offsets(topic: Topic, at: 'earliest' | 'latest' | number): Promise<Offsets> {
    const offsets = await super.offsets(topic, 'latest');
    return at === 'latest' ? new Map(Array.from(offsets, ([partition, end]) => [partition, `${end}1`])) : offsets;
  }
}

describe('the search for a gap in a topic whose messages are deleted meanwhile', () => {
  const contractAddress = newContract();
  const channel = {
    watchId: 'wch_1',
    chainId: CHAIN_ID,
    contractAddress,
    eventSignature: TRANSFER,
    finality: 'latest',
  } as const;
  const gapAfter = async (signal: AbortSignal) => {
    const messageBus = new ForgetfulBus();
    await messageBus.createTopics([topics.chainEvents]);
    const reader = new MessageReader(
      new Cursors(new SignedText(new Uint8Array(32), 'stream cursors')),
      () => undefined,
    );
    return new BusReplay({
      messageBus,
      genuine: { of: (messages) => Promise.resolve([...messages]) },
      reader,
      clock: systemClock,
    }).gapAfter(channel, resumePointAfter(1), 2, signal);
  };

  it('is refused as unavailable, and may be repeated', async () => {
    const refusal = gapAfter(new AbortController().signal);
    await expect(refusal).rejects.toMatchObject({ code: 'dependency_unavailable', retryAfter: 1 });
  });

  it('ends at once when it is aborted', async () => {
    const leaving = new AbortController();
    const search = gapAfter(leaving.signal);
    const passedMs = startStopwatch();
    leaving.abort(new Error('the client left'));
    await expect(search).rejects.toThrow('the client left');
    expect(passedMs()).toBeLessThan(1_000);
  });
});
