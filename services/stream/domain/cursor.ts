import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';

/** A place in a channel: everything up to `position` has been seen. */
export interface Place {
  position: Position;
  /** Unix ms at which it was the newest place; `undefined`: it is that of an event. */
  markedAtMs: number | undefined;
}

export const placeOf = (position: Position): Place => ({ position, markedAtMs: undefined });

const POSITION_BYTES = 8;
const TIME_BYTES = 6;
const SIGNATURE_BYTES = 16;
const PLACE_BYTES = POSITION_BYTES + TIME_BYTES;
const CURSOR_BYTES = PLACE_BYTES + SIGNATURE_BYTES;

/**
 * Writes and reads cursors. That of an event is made of its channel and position alone, so every node makes the same. Its
 * bytes: position (8), Unix ms of a mark or 0 (6), and the first 16 of an HMAC-SHA-256 over channel and these.
 */
export class Cursors {
  private readonly key: Uint8Array;

  constructor(masterKey: Uint8Array) {
    this.key = new Uint8Array(hkdfSync('sha256', masterKey, '', 'annals stream cursor', 32));
  }

  /** With the time, for a place where no event of the channel need be, such as "now". */
  write(channel: string, { position, markedAtMs }: Place): string {
    const bytes = Buffer.alloc(CURSOR_BYTES);
    bytes.writeBigUInt64BE(BigInt(position), 0);
    bytes.writeUIntBE(markedAtMs ?? 0, POSITION_BYTES, TIME_BYTES);
    this.sign(channel, bytes.subarray(0, PLACE_BYTES)).copy(bytes, PLACE_BYTES);
    return bytes.toString('base64url');
  }

  /** @throws Refusal cursor_invalid for anything that was not made for this channel */
  read(channel: string, cursor: string): Place {
    const bytes = Buffer.from(cursor, 'base64url');
    const place = bytes.subarray(0, PLACE_BYTES);
    const isOurs =
      bytes.length === CURSOR_BYTES && timingSafeEqual(bytes.subarray(PLACE_BYTES), this.sign(channel, place));
    if (!isOurs) throw new Refusal('cursor_invalid', 'the cursor was not given for this channel');
    const markedAtMs = place.readUIntBE(POSITION_BYTES, TIME_BYTES);
    return { position: Number(place.readBigUInt64BE(0)), markedAtMs: markedAtMs === 0 ? undefined : markedAtMs };
  }

  private sign(channel: string, place: Uint8Array): Buffer {
    return createHmac('sha256', this.key).update(channel).update(place).digest().subarray(0, SIGNATURE_BYTES);
  }
}
