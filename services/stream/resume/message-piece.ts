import type { Position } from '../../../shared/event-store/event-store.ts';
import { resumePointAfter } from '../../../shared/keys/stream-cursors.ts';
import { firstIndex } from '../../../shared/primitives/first-index.ts';
import type { ChainMessage, MessageReader } from '../domain/chain-message.ts';
import { channelKey, channelName, type Channel } from '../domain/channel.ts';
import type { Delivery, Page } from '../domain/delivery.ts';

/** Deliveries per page. Decoding them blocks other work for some milliseconds. */
const DELIVERIES_PER_PAGE = 64;
/** An estimate of the memory of a message without its text, and of its text once it is decoded for clients. */
const BYTES_PER_MESSAGE = 500;
const BYTES_PER_CHARACTER = 2;

interface After {
  after: Position;
  /** Inclusive; default: no bound. */
  until?: Position;
}

/** Consecutive messages, read once for all who need them. */
export class MessagePiece {
  /** An estimate of the memory that it needs. */
  readonly bytes: number;
  /** The highest position; 0 if there is none. */
  readonly newest: Position;
  private readonly byKey: ReadonlyMap<string, ChainMessage[]>;

  constructor(readonly messages: readonly ChainMessage[]) {
    let newest = 0;
    let characters = 0;
    const growing: ChainMessage[] = [];
    for (const message of messages) {
      characters += message.characters;
      // Leaves out repeats, which come after the first publication of a higher position.
      if (message.position <= newest) continue;
      newest = message.position;
      growing.push(message);
    }
    this.newest = newest;
    this.bytes = 1 + messages.length * BYTES_PER_MESSAGE + characters * BYTES_PER_CHARACTER;
    this.byKey = Map.groupBy(growing, ({ key }) => key);
  }

  /** Yields the changes of a channel in a range, page by page. The end of the last page covers the whole piece. */
  *pages(channel: Channel, { after, until = Infinity }: After, reader: MessageReader): Generator<Page> {
    const name = channelName(channel);
    const messages = this.byKey.get(channelKey(channel)) ?? [];
    let deliveries: Delivery[] = [];
    for (let at = firstIndex(messages, ({ position }) => position > after); at < messages.length; at += 1) {
      const message = messages[at];
      if (!message || message.position > until) break;
      const delivery = reader.delivery(message);
      if (delivery?.channel !== name || deliveries.push(delivery) < DELIVERIES_PER_PAGE) continue;
      yield { deliveries, end: resumePointAfter(message.position) };
      deliveries = [];
    }
    yield { deliveries, end: resumePointAfter(Math.max(after, Math.min(this.newest, until))) };
  }
}
