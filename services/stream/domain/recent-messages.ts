import type { Position } from '../../../shared/event-store/event-store.ts';
import { firstIndex } from '../../../shared/primitives/first-index.ts';
import type { ChainMessage } from './chain-message.ts';

/** Per partition; twelve of them stay below 100 MB. */
const MESSAGES_MAX = 10_000;
const CHARACTERS_MAX = 4_000_000;

/** The newest messages of one partition, in position order, each position once. */
export class RecentMessages {
  private readonly messages: ChainMessage[] = [];
  private characters = 0;
  private lowest: Position;

  /** @param isWhole the partition is empty so far: nothing was published before what will be added */
  constructor(isWhole: boolean) {
    this.lowest = isWhole ? 0 : Infinity;
  }

  /** Everything after this position is here. */
  get floor(): Position {
    return this.lowest;
  }

  /** Position of the oldest message; `undefined`: none yet. */
  get oldest(): Position | undefined {
    return this.messages[0]?.position;
  }

  /** Position of the newest message; 0: none yet. */
  get newest(): Position {
    return this.messages.at(-1)?.position ?? 0;
  }

  /** @returns whether it is new: the relay may publish a message again */
  add(message: ChainMessage): boolean {
    if (message.position <= this.newest) return false;
    if (this.lowest === Infinity) this.lowest = message.position - 1;
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
    this.lowest = oldest.position;
  }
}
