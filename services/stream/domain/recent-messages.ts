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
   * @param isPartitionEmpty the partition is empty: no message was published before those that will be added
   * @param sinceMs every message whose event was stored since then will be added: a first one that is older is a copy, which
   * somebody published again, and says nothing about where the others are
   */
  constructor(
    isPartitionEmpty: boolean,
    private readonly sinceMs = -Infinity,
  ) {
    this.completeAfterPosition = isPartitionEmpty ? 0 : Infinity;
  }

  /** The position after which every message of the partition is kept; `Infinity`: no message was added yet. */
  get completeAfter(): Position {
    return this.completeAfterPosition;
  }

  /** Position of the oldest message; `undefined`: there is none. */
  get oldest(): Position | undefined {
    return this.messages[0]?.position;
  }

  /** Position of the newest message; 0: there is none. */
  get newest(): Position {
    return this.messages.at(-1)?.position ?? 0;
  }

  /** Returns whether the message is new: the relay may publish a message again. */
  add(message: ChainMessage): boolean {
    if (message.position <= this.newest) return false;
    if (this.messages.length === 0 && message.storedAtMs < this.sinceMs) return false;
    if (this.completeAfterPosition === Infinity) this.completeAfterPosition = message.position - 1;
    this.messages.push(message);
    this.characters += message.characters;
    while (this.messages.length > MESSAGES_MAX || (this.characters > CHARACTERS_MAX && this.messages.length > 1)) {
      this.forgetOldest();
    }
    return true;
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
