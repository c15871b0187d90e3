import { describe, expect, it } from '@jest/globals';
import { topics, type Topic } from '../../../schemas/topics.ts';
import { SignedText } from '../../../shared/keys/signed-text.ts';
import { MemoryMessageBus } from '../../../shared/message-bus/message-bus.memory.ts';
import type { Offsets } from '../../../shared/message-bus/message-bus.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { MessageReader } from '../domain/chain-message.ts';
import { Cursors, placeOf } from '../domain/cursor.ts';
import { CHAIN_ID, newContract, TRANSFER } from '../testing/catcher-stand-in.ts';
import { BusReplay } from './bus-replay.ts';

/** A bus whose only message is deleted as soon as somebody has asked where it is. */
class ForgetfulBus extends MemoryMessageBus {
  override async offsets(topic: Topic, at: 'earliest' | 'latest' | number): Promise<Offsets> {
    const offsets = await super.offsets(topic, 'latest');
    return at === 'latest' ? new Map(Array.from(offsets, ([partition, end]) => [partition, `${end}1`])) : offsets;
  }
}

describe('what is lost of a topic whose last messages are deleted while it is looked at', () => {
  const contractAddress = newContract();
  const channel = { chainId: CHAIN_ID, contractAddress, eventSignature: TRANSFER, finality: 'latest' } as const;
  const lostAfter = async (signal: AbortSignal) => {
    const messageBus = new ForgetfulBus();
    await messageBus.createTopics([topics.chainEvents]);
    const reader = new MessageReader(
      new Cursors(new SignedText(new Uint8Array(32), 'stream cursors')),
      () => undefined,
    );
    return new BusReplay({ messageBus, reader, clock: systemClock }).lostAfter(channel, placeOf(1), 2, signal);
  };

  it('cannot be told: whoever asked may ask again', async () => {
    const refusal = lostAfter(new AbortController().signal);
    await expect(refusal).rejects.toMatchObject({ code: 'dependency_unavailable', retryAfter: 1 });
  });

  it('is not looked for any longer when nobody wants to know', async () => {
    const leaving = new AbortController();
    const looking = lostAfter(leaving.signal);
    const startedAt = performance.now();
    leaving.abort(new Error('the client left'));
    await expect(looking).rejects.toThrow('the client left');
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});
