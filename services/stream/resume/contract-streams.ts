import { chainEventsStream } from '../../../schemas/events/event-catcher/chain-events.ts';
import type { EventStore, Position, StoredEvent } from '../../../shared/event-store/event-store.ts';
import { resumePointAfter } from '../../../shared/keys/stream-cursors.ts';
import { toIso, type Clock } from '../../../shared/primitives/clock.ts';
import type { ChainMessage, MessageReader } from '../domain/chain-message.ts';
import { channelKey, type Channel } from '../domain/channel.ts';
import type { Page } from '../domain/delivery.ts';
import { MessagePiece } from './message-piece.ts';
import { SharedAnswers } from './shared-answers.ts';

/** A record may have half a megabyte. Pieces begin at multiples of this revision, so that readers share them. */
const EVENTS_PER_PIECE = 128;
const PIECES_TTL_MS = 10_000;
const PIECES_BYTES_MAX = 16 * 1_024 * 1_024;

interface ContractStreamsOptions {
  eventStore: Pick<EventStore, 'read'>;
  reader: MessageReader;
  clock: Pick<Clock, 'elapsed'>;
}

/** The changes after one position and up to another, up to which everything must be stored already. */
interface Wanted {
  after: Position;
  until: Position;
}

/** Consecutive events of a stream. */
interface StreamPiece {
  piece: MessagePiece;
  /** Revision and position of the first event; `undefined` if there is none. */
  first: Pick<StoredEvent, 'revision' | 'position'> | undefined;
}

/** A stream in which everything up to position `until` is stored already. */
interface StoredRange {
  stream: string;
  key: string;
  until: Position;
}

/**
 * Reads changes that the topic no longer has from the streams of their contracts, from which nothing is deleted. A
 * message of the topic is the event of the stream, so clients are sent the same. Readers share what they read.
 */
export class ContractStreams {
  private readonly pieces: SharedAnswers<StreamPiece>;

  constructor(private readonly options: ContractStreamsOptions) {
    this.pieces = new SharedAnswers({
      ...{ maxBytes: PIECES_BYTES_MAX, ttlMs: PIECES_TTL_MS, clock: options.clock },
      bytesOf: ({ piece }) => piece.bytes,
    });
  }

  /** Whether all of these changes of a channel are stored; `false` if the contract never had an event. */
  async has(channel: Channel, { after, until }: Wanted, signal: AbortSignal): Promise<boolean> {
    const first = await this.firstOf(rangeOf(channel, until), signal);
    return first !== undefined && (first.revision === 0 || first.position <= after);
  }

  /** Yields these changes of a channel. */
  async *changes(channel: Channel, { after, until }: Wanted, signal: AbortSignal): AsyncGenerator<Page> {
    const range = rangeOf(channel, until);
    const newest = await this.newestOf(range, signal);
    let reached = after;
    for (let at = await this.findPiece(range, { after, newest }, signal); at <= newest; at += EVENTS_PER_PIECE) {
      const { piece } = await this.read(range, { from: at, limit: EVENTS_PER_PIECE }, signal);
      for (const page of piece.pages(channel, { after: reached, until }, this.options.reader)) {
        reached = page.end.position;
        yield page;
      }
      if (piece.newest >= until) break;
    }
    yield { deliveries: [], end: resumePointAfter(Math.max(reached, until)) };
  }

  /** Returns the revision of the last piece that begins at or before a position, else of the first one. */
  private async findPiece(
    range: StoredRange,
    { after, newest }: { after: Position; newest: number },
    signal: AbortSignal,
  ): Promise<number> {
    const oldest = (await this.firstOf(range, signal))?.revision ?? 0;
    let [low, high] = [Math.floor(oldest / EVENTS_PER_PIECE), Math.floor(newest / EVENTS_PER_PIECE)];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const { first } = await this.read(range, { from: middle * EVENTS_PER_PIECE, limit: 1 }, signal);
      if (first && first.position <= after) low = middle;
      else high = middle - 1;
    }
    return low * EVENTS_PER_PIECE;
  }

  private async firstOf(range: StoredRange, signal: AbortSignal): Promise<StreamPiece['first']> {
    return (await this.read(range, { from: 0, limit: 1 }, signal)).first;
  }

  private async newestOf(range: StoredRange, signal: AbortSignal): Promise<number> {
    return (await this.read(range, { direction: 'backwards', limit: 1 }, signal)).first?.revision ?? -1;
  }

  /** Only those share a read who want the same range: at the time of the read, all of it was stored. */
  private read(
    { stream, key, until }: StoredRange,
    page: { from?: number; direction?: 'backwards'; limit: number },
    signal: AbortSignal,
  ): Promise<StreamPiece> {
    const name = [stream, until, page.direction ?? page.from, page.limit].join(' ');
    return this.pieces.get(name, signal, async () => {
      const events = await this.options.eventStore.read(stream, page);
      const messages = events.map((event) => this.options.reader.message(toMessage(event, key)));
      const piece = new MessagePiece(messages.filter((message): message is ChainMessage => !!message));
      return { piece, first: events[0] && { revision: events[0].revision, position: events[0].position } };
    });
  }
}

const rangeOf = (channel: Channel, until: Position): StoredRange => ({
  stream: chainEventsStream(channel.chainId, channel.contractAddress),
  key: channelKey(channel),
  until,
});

/** The members of the message that the relay publishes of an event. */
const toMessage = ({ type, schemaVersion, position, time, dataText }: StoredEvent, key: string) => ({
  key,
  headers: {
    ce_type: `annals.${type}.v${String(schemaVersion)}`,
    ce_position: String(position),
    ce_time: toIso(time),
  },
  value: dataText,
});
