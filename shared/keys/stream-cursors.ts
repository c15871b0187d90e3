import type { Position } from '../event-store/event-store.ts';
import { Refusal } from '../errors/refusal.ts';
import { SignedText } from './signed-text.ts';

/** Where a channel of the stream can be resumed: everything up to and including `position` has been sent. */
export interface ResumePoint {
  position: Position;
  /** Unix ms at which the channel had nothing after `position`; `undefined` if `position` is that of an event. */
  newestAtMs: number | undefined;
  /** Set until a history has been sent: the first block of which events are sent. */
  historyFrom?: number;
  /**
   * Set within a history: it has the records as of this position. Those whose newest observation is at `position` or
   * before have been sent, and `newestAtMs` is the time of `asOf`.
   */
  asOf?: Position;
}

export const resumePointAfter = (position: Position): ResumePoint => ({ position, newestAtMs: undefined });

const POSITION_BYTES = 8;
const TIME_BYTES = 6;
const BLOCK_BYTES = 8;
const BLOCK_AT = POSITION_BYTES + TIME_BYTES;
const AS_OF_AT = BLOCK_AT + BLOCK_BYTES;

/**
 * Writes and reads the stream's cursors. A scope is a channel, or, in the answer of a query, a contract: such a cursor
 * is valid in every channel of it. The cursor of an event depends only on its channel and position, so every node
 * writes the same. The signed bytes are the position (8 bytes), `newestAtMs` or 0 (6 bytes) and, only if set,
 * `historyFrom` and `asOf` (8 bytes each).
 */
export class Cursors {
  private readonly signed: SignedText;

  constructor(edgeKey: Uint8Array) {
    this.signed = new SignedText(edgeKey, 'stream cursors');
  }

  write(scope: string, { position, newestAtMs, historyFrom, asOf }: ResumePoint): string {
    const length = historyFrom === undefined ? BLOCK_AT : asOf === undefined ? AS_OF_AT : AS_OF_AT + POSITION_BYTES;
    const bytes = Buffer.alloc(length);
    bytes.writeBigUInt64BE(BigInt(position), 0);
    bytes.writeUIntBE(newestAtMs ?? 0, POSITION_BYTES, TIME_BYTES);
    if (historyFrom !== undefined) bytes.writeBigUInt64BE(BigInt(historyFrom), BLOCK_AT);
    if (historyFrom !== undefined && asOf !== undefined) bytes.writeBigUInt64BE(BigInt(asOf), AS_OF_AT);
    return this.signed.write(scope, bytes);
  }

  /** @throws Refusal cursor_invalid for a text that was not made for one of these scopes */
  read(scopes: readonly string[], cursor: string): ResumePoint {
    const [bytes] = scopes.flatMap((scope) => this.signed.read(scope, cursor) ?? []);
    if (!bytes) throw new Refusal('cursor_invalid', 'the cursor was not given for this channel');
    const newestAtMs = bytes.readUIntBE(POSITION_BYTES, TIME_BYTES);
    return {
      position: Number(bytes.readBigUInt64BE(0)),
      newestAtMs: newestAtMs === 0 ? undefined : newestAtMs,
      ...(bytes.length > BLOCK_AT && { historyFrom: Number(bytes.readBigUInt64BE(BLOCK_AT)) }),
      ...(bytes.length > AS_OF_AT && { asOf: Number(bytes.readBigUInt64BE(AS_OF_AT)) }),
    };
  }
}
