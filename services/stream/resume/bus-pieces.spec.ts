import { beforeEach, describe, expect, it } from '@jest/globals';
import { topics } from '../../../schemas/topics.ts';
import { followed } from '../../../shared/message-bus/followed-partitions.ts';
import { TestClock } from '../../../shared/testing/test-foundation.ts';
import { Cursors } from '../../../shared/keys/stream-cursors.ts';
import { MessageReader } from '../domain/chain-message.ts';
import { withinTicks } from '../testing/feed-under-test.ts';
import { channel } from '../testing/some-subscription.ts';
import { TruncatedBus } from '../testing/truncated-bus.ts';
import { BusPieces, MessagesDeleted } from './bus-pieces.ts';

const topic = topics.chainEvents;
const KEY = 'key';

describe('the pieces of a partition', () => {
  const noSignal = new AbortController().signal;
  let messageBus: TruncatedBus;
  let pieces: BusPieces;
  let partition: number;
  /** The first offsets of the reads, and which of them have been ended. */
  let reads: { offset: string; signal: AbortSignal }[];
  beforeEach(async () => {
    messageBus = new TruncatedBus();
    await messageBus.createTopics([topic]);
    partition = messageBus.partitionOf(topic, KEY);
    reads = [];
    const consume = messageBus.consume.bind(messageBus);
    messageBus.consume = (asked, from, signal) => {
      reads.push({ offset: followed(from).get(partition)?.offset ?? '', signal });
      return consume(asked, from, signal);
    };
    const reader = new MessageReader(new Cursors(new Uint8Array(32)), () => undefined);
    const genuine = { filter: <Message>(messages: readonly Message[]) => Promise.resolve([...messages]) };
    pieces = new BusPieces({ messageBus, genuine, reader, clock: new TestClock() });
  });
  const publish = (positions: readonly number[]) =>
    messageBus.publish(
      topic,
      positions.map((position) => ({
        key: KEY,
        headers: { ce_type: 'annals.ChainEventObserved.v1', ce_position: String(position) },
        value: '{}',
        timestamp: 0,
      })),
    );
  const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);
  /** Reads pieces from an offset on, until one has the position. @returns their offsets, and the positions in them */
  const readFrom = async (from: number, until: number) => {
    const [offsets, positions]: [number[], number[]] = [[], []];
    for (let offset = BigInt(from); positions.at(-1) !== until;) {
      const { piece, next } = await pieces.at({ partition, offset }, noSignal);
      offsets.push(Number(offset));
      positions.push(...piece.messages.map(({ position }) => position));
      offset = next;
    }
    return { offsets, positions };
  };

  it('come from one read, however many readers there are', async () => {
    await publish(upTo(3_500));
    const found = await Promise.all([readFrom(0, 3_500), readFrom(0, 3_500), readFrom(1_000, 3_500)]);
    expect(found.map(({ positions }) => positions)).toEqual([upTo(3_500), upTo(3_500), upTo(3_500).slice(1_000)]);
    expect(reads.map(({ offset }) => offset).filter((offset) => offset === '0')).toHaveLength(1);
    expect(reads.length).toBeLessThanOrEqual(2);
  });

  it('are the same for readers who began at different offsets, from the next multiple of 4,096 on', async () => {
    await publish(upTo(6_000));
    const [early, late] = [await readFrom(0, 6_000), await readFrom(2_345, 6_000)];
    expect(early.positions).toEqual(upTo(6_000));
    expect(late.positions).toEqual(upTo(6_000).slice(2_345));
    const aligned = (offsets: readonly number[]) => offsets.filter((offset) => offset >= 4_096);
    expect(aligned(late.offsets)).toEqual(aligned(early.offsets));
    expect(reads.map(({ offset }) => offset)).toEqual(['0', '2345']);
  });

  it('wait at the end of the partition, and no longer when nobody waits for them', async () => {
    const leaving = new AbortController();
    const place = { partition, offset: 0n };
    const [left, stayed] = [pieces.at(place, leaving.signal), pieces.at(place, noSignal)];
    leaving.abort(new Error('the client left'));
    await expect(left).rejects.toThrow('the client left');
    await publish([7]);
    expect((await stayed).piece.newest).toBe(7);
    const last = new AbortController();
    const alone = pieces.at({ partition, offset: 1n }, last.signal);
    last.abort(new Error('the last client left'));
    await expect(alone).rejects.toThrow('the last client left');
    await withinTicks(() => reads.every(({ signal }) => signal.aborted), 'the read must end');
    expect(reads).toHaveLength(1);
  });

  it('are refused if messages were deleted before they were read', async () => {
    await publish(upTo(20));
    messageBus.keptFrom = 5;
    await expect(pieces.at({ partition, offset: 4n }, noSignal)).rejects.toThrow(MessagesDeleted);
    expect((await readFrom(5, 20)).positions).toEqual(upTo(20).slice(5));
  });

  it('leave out repeats, and give each client what follows its own position', async () => {
    await publish([3, 5, 3, 5, 8, 9, 8]);
    const { piece } = await pieces.at({ partition, offset: 0n }, noSignal);
    expect(piece.messages.map(({ position }) => position)).toEqual([3, 5, 3, 5, 8, 9, 8]);
    expect(piece.newest).toBe(9);
    const reader = new MessageReader(new Cursors(new Uint8Array(32)), () => undefined);
    const ends = (range: { after: number; until?: number }) =>
      Array.from(piece.pages(channel, range, reader), ({ end }) => end.position);
    expect([ends({ after: 4 }), ends({ after: 12 }), ends({ after: 4, until: 6 })]).toEqual([[9], [12], [6]]);
  });
});
