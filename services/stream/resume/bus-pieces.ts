import { LRUCache } from 'lru-cache';
import { topics } from '../../../schemas/topics.ts';
import { Refusal, unavailable } from '../../../shared/errors/refusal.ts';
import type { GenuineMessages } from '../../../shared/message-bus/genuine/genuine-messages.ts';
import type { BusBatch, BusMessage, MessageBus } from '../../../shared/message-bus/message-bus.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { untilAborted } from '../../../shared/primitives/waiting/until-aborted.ts';
import type { ChainMessage, MessageReader } from '../domain/chain-message.ts';
import { expiryAfter } from '../edge/expiry.ts';
import { MessagePiece } from './message-piece.ts';
import { SharedAnswers } from './shared-answers.ts';

const topic = topics.chainEvents;

/** For so long, clients that return share what was read for others. All of a crowd have caught up by then. */
const PIECES_TTL_MS = 10_000;
const PIECES_BYTES_MAX = 32 * 1_024 * 1_024;
/** No piece goes beyond a multiple of this, so that readers who began at different offsets soon use the same pieces. */
const ALIGNMENT = 4_096n;
/** How many reads wait for somebody to continue them, and for how long. Each holds at most one batch. */
const OPEN_READS_MAX = 16;
const OPEN_READS_TTL_MS = 5_000;

interface Place {
  partition: number;
  offset: bigint;
}

export interface BusPiece {
  piece: MessagePiece;
  /** The offset at which the next piece begins. */
  next: bigint;
}

/** A read of the bus that can be continued. */
interface OpenRead {
  batches: AsyncIterator<BusBatch>;
  /** Messages that were received, and belong to the next piece. */
  rest: BusMessage[];
  ending: AbortController;
}

interface BusPiecesOptions {
  messageBus: Pick<MessageBus, 'consume' | 'offsets'>;
  genuine: Pick<GenuineMessages, 'filter'>;
  reader: MessageReader;
  clock: Pick<Clock, 'elapsed'>;
  /** Called for each read of the bus that begins. */
  onRead?: () => void;
}

/** Messages were deleted before a slow reader came to them. What is missing must be read elsewhere. */
export class MessagesDeleted extends Refusal {
  constructor({ partition, offset }: Place) {
    const detail = `the messages of partition ${String(partition)} from ${String(offset)} on were deleted meanwhile`;
    super('dependency_unavailable', detail, { retryAfter: 1 });
  }
}

/**
 * Reads partitions of the topic piece by piece. However many readers need a piece, it is read, checked and parsed once
 * (decision 0079), and the next piece continues the same read of the bus.
 */
export class BusPieces {
  private readonly pieces: SharedAnswers<BusPiece>;
  private readonly open: LRUCache<string, OpenRead>;

  constructor(private readonly options: BusPiecesOptions) {
    const { clock } = options;
    this.pieces = new SharedAnswers({
      ...{ maxBytes: PIECES_BYTES_MAX, ttlMs: PIECES_TTL_MS, clock },
      bytesOf: ({ piece }) => piece.bytes,
    });
    this.open = new LRUCache({
      max: OPEN_READS_MAX,
      ...expiryAfter(OPEN_READS_TTL_MS, clock),
      dispose: ({ ending }, _, reason) => {
        // A deleted one is being continued.
        if (reason !== 'delete') ending.abort();
      },
    });
  }

  /**
   * Returns the messages that begin at an offset; waits for the first one at the end of the partition.
   * @throws MessagesDeleted; the reason of the signal
   */
  at(place: Place, signal: AbortSignal): Promise<BusPiece> {
    return this.pieces.get(nameOf(place), signal, (ending) => this.read(place, ending));
  }

  private async read(place: Place, signal: AbortSignal): Promise<BusPiece> {
    const read = this.continuedAt(place);
    try {
      const received = read.rest.length > 0 ? read.rest : await this.receive(read, signal);
      await this.refuseDeleted(place, received);
      const { messages, rest, next } = cut(received);
      const genuine = await this.options.genuine.filter(messages);
      const parsed = genuine.map((message) => this.options.reader.message(message));
      read.rest = rest;
      this.open.set(nameOf({ ...place, offset: next }), read);
      return { piece: new MessagePiece(parsed.filter((message): message is ChainMessage => !!message)), next };
    } catch (error) {
      read.ending.abort();
      throw error;
    }
  }

  private continuedAt(place: Place): OpenRead {
    const known = this.open.get(nameOf(place));
    this.open.delete(nameOf(place));
    if (known) return known;
    this.options.onRead?.();
    const ending = new AbortController();
    const from = new Map([[place.partition, String(place.offset)]]);
    const batches = this.options.messageBus.consume(topic, from, ending.signal)[Symbol.asyncIterator]();
    return { batches, rest: [], ending };
  }

  private async receive({ batches }: OpenRead, signal: AbortSignal): Promise<BusMessage[]> {
    const received = await untilAborted(batches.next(), signal);
    if (received.done === true) throw unavailable('the message bus is closing', undefined);
    return received.value.messages;
  }

  /** Offsets have gaps, so a missing offset alone says nothing. */
  private async refuseDeleted(place: Place, [first]: BusMessage[]): Promise<void> {
    if (first && BigInt(first.offset) <= place.offset) return;
    const earliest = (await this.options.messageBus.offsets(topic, 'earliest')).get(place.partition) ?? '0';
    if (BigInt(earliest) > place.offset) throw new MessagesDeleted(place);
  }
}

const nameOf = ({ partition, offset }: Place): string => `${String(partition)}/${String(offset)}`;

/** Ends a piece at a multiple of the alignment. */
const cut = (received: BusMessage[]): { messages: BusMessage[]; rest: BusMessage[]; next: bigint } => {
  const [first, last] = [BigInt(received[0]?.offset ?? 0), BigInt(received.at(-1)?.offset ?? 0)];
  const boundary = (first / ALIGNMENT + 1n) * ALIGNMENT;
  if (last < boundary) return { messages: received, rest: [], next: last + 1n };
  const end = received.findIndex(({ offset }) => BigInt(offset) >= boundary);
  return { messages: received.slice(0, end), rest: received.slice(end), next: boundary };
};
