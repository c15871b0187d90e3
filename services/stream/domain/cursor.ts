import type { Position } from '../../../shared/event-store/event-store.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { SignedText } from '../../../shared/keys/signed-text.ts';

/** A place in a channel: everything up to `position` has been seen. */
export interface Place {
  position: Position;
  /** Unix ms at which it was the newest place; `undefined`: it is that of an event. */
  markedAtMs: number | undefined;
}

export const placeOf = (position: Position): Place => ({ position, markedAtMs: undefined });

const POSITION_BYTES = 8;
const TIME_BYTES = 6;

/**
 * Writes and reads cursors. That of an event is made of its channel and position alone, so every node makes the same.
 * What is signed: position (8 bytes) and Unix ms of a mark or 0 (6).
 */
export class Cursors {
  constructor(private readonly signed: SignedText) {}

  /** With the time, for a place where no event of the channel need be, such as "now". */
  write(channel: string, { position, markedAtMs }: Place): string {
    const bytes = Buffer.alloc(POSITION_BYTES + TIME_BYTES);
    bytes.writeBigUInt64BE(BigInt(position), 0);
    bytes.writeUIntBE(markedAtMs ?? 0, POSITION_BYTES, TIME_BYTES);
    return this.signed.write(channel, bytes);
  }

  /** @throws Refusal cursor_invalid for anything that was not made for this channel */
  read(channel: string, cursor: string): Place {
    const bytes = this.signed.read(channel, cursor);
    if (!bytes) throw new Refusal('cursor_invalid', 'the cursor was not given for this channel');
    const markedAtMs = bytes.readUIntBE(POSITION_BYTES, TIME_BYTES);
    return { position: Number(bytes.readBigUInt64BE(0)), markedAtMs: markedAtMs === 0 ? undefined : markedAtMs };
  }
}
