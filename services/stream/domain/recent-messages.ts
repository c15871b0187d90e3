import type { Position } from '../../../shared/event-store/event-store.ts';
import { firstIndex } from '../../../shared/primitives/first-index.ts';
import type { ChainMessage } from './chain-message.ts';

/** Limits of one partition; twelve partitions stay below 100 MB. */
const MESSAGES_MAX = 10_000;
const CHARACTERS_MAX = 4_000_000;

/** Keeps the newest messages of one partition, in position order, each position once. */
export class RecentMessages {
  private readonly messages: ChainMessage[] = [];
  private characters = 0;
  private completeAfterPosition: Position;

  /**
   * @param isPartitionEmpty the partition is empty: those that will be added are the first messages after `head`
   * @param sinceMs every message whose event was stored since then will be added. A first message that is older is a
   * copy, published again by somebody, and says nothing about the position of the others
   * @param head the newest position when the reading began. In an empty partition, messages up to there may have been
   * deleted
   */
  constructor(
    isPartitionEmpty: boolean,
    private readonly sinceMs = -Infinity,
    private readonly head: Position = 0,
  ) {
    this.completeAfterPosition = isPartitionEmpty ? head : Infinity;
  }

  /** The position after which every message of the partition is kept; `Infinity` before the first message. */
  get completeAfter(): Position {
    return this.completeAfterPosition;
  }

  /** Position of the oldest message; `undefined` if there is none. */
  get oldest(): Position | undefined {
    return this.messages[0]?.position;
  }

  /** The position after which the next message comes: that of the newest message, or where an empty partition begins. */
  get end(): Position {
    return Math.max(this.newest, this.completeAfter === Infinity ? 0 : this.completeAfter);
  }

  /** Position of the newest message; 0 if there is none. */
  get newest(): Position {
    return this.messages.at(-1)?.position ?? 0;
  }

  /** Returns whether the message is new: the relay may publish a message again. */
  add(message: ChainMessage): boolean {
    if (message.position <= this.newest) return false;
    const isFirst = this.messages.length === 0;
    if (isFirst && message.position <= this.completeAfter && message.storedAtMs < this.sinceMs) return false;
    if (this.completeAfterPosition === Infinity) this.completeAfterPosition = message.position - 1;
    this.messages.push(message);
    this.characters += message.characters;
    while (this.messages.length > MESSAGES_MAX || (this.characters > CHARACTERS_MAX && this.messages.length > 1)) {
      this.forgetOldest();
    }
    return true;
  }

  /**
   * To be called when all messages were added that there were when the reading began. If none of them counts, memory
   * begins at `head`.
   */
  wereAllAdded(): void {
    if (this.completeAfterPosition === Infinity) this.completeAfterPosition = this.head;
  }

  *after(position: Position): Generator<ChainMessage> {
    const first = firstIndex(this.messages, (message) => message.position > position);
    for (let at = first; at < this.messages.length; at += 1) {
      const message = this.messages[at];
      if (message) yield message;
    }
  }

  private forgetOldest(): void {
    const oldest = this.messages.shift();
    if (!oldest) return;
    this.characters -= oldest.characters;
    this.completeAfterPosition = oldest.position;
  }
}
