import type { Position } from '../../../shared/event-store/event-store.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { SignedText } from '../../../shared/keys/signed-text.ts';

/** Where a channel can be resumed: everything up to and including `position` has been sent. */
export interface ResumePoint {
  position: Position;
  /** Unix ms at which the channel had nothing after `position`; `undefined`: `position` is that of an event. */
  newestAtMs: number | undefined;
  /** Set before a history has begun: the block from which on it is sent. */
  historyFrom?: number;
}

export const resumePointAfter = (position: Position): ResumePoint => ({ position, newestAtMs: undefined });

const POSITION_BYTES = 8;
const TIME_BYTES = 6;
const BLOCK_BYTES = 8;
const BLOCK_AT = POSITION_BYTES + TIME_BYTES;

/**
 * Writes and reads cursors. The cursor of an event depends only on its channel and position, so every node writes the
 * same. The signed bytes are the position (8 bytes), `newestAtMs` or 0 (6 bytes) and, only if set, `historyFrom` (8 bytes).
 */
export class Cursors {
  constructor(private readonly signed: SignedText) {}

  write(channel: string, { position, newestAtMs, historyFrom }: ResumePoint): string {
    const bytes = Buffer.alloc(historyFrom === undefined ? BLOCK_AT : BLOCK_AT + BLOCK_BYTES);
    bytes.writeBigUInt64BE(BigInt(position), 0);
    bytes.writeUIntBE(newestAtMs ?? 0, POSITION_BYTES, TIME_BYTES);
    if (historyFrom !== undefined) bytes.writeBigUInt64BE(BigInt(historyFrom), BLOCK_AT);
    return this.signed.write(channel, bytes);
  }

  /** @throws Refusal cursor_invalid for anything that was not made for this channel */
  read(channel: string, cursor: string): ResumePoint {
    const bytes = this.signed.read(channel, cursor);
    if (!bytes) throw new Refusal('cursor_invalid', 'the cursor was not given for this channel');
    const newestAtMs = bytes.readUIntBE(POSITION_BYTES, TIME_BYTES);
    return {
      position: Number(bytes.readBigUInt64BE(0)),
      newestAtMs: newestAtMs === 0 ? undefined : newestAtMs,
      ...(bytes.length > BLOCK_AT && { historyFrom: Number(bytes.readBigUInt64BE(BLOCK_AT)) }),
    };
  }
}
