import { createHmac, timingSafeEqual } from 'node:crypto';
import { deriveKey } from './master-key.ts';

/** 128 bits: nobody guesses one. */
const SIGNATURE_BYTES = 16;
/** Far beyond the longest that is written. */
const CHARACTERS_MAX = 1_000;

/**
 * Text that clients are given, keep and send back: opaque, and refused unless it was written here, on whichever node,
 * for the same purpose and place. Base64url of the payload and the first bytes of an HMAC-SHA-256 over place and payload.
 * The same payload gives the same text.
 */
export class SignedText {
  private readonly key: Uint8Array;

  constructor(masterKey: Uint8Array, purpose: string) {
    this.key = deriveKey(masterKey, purpose);
  }

  /** @param place where alone it can be read again */
  write(place: string, payload: Uint8Array | string): string {
    const bytes = Buffer.from(payload);
    return Buffer.concat([bytes, this.sign(place, bytes)]).toString('base64url');
  }

  /** The payload; `undefined` for anything that was not written for this place. */
  read(place: string, text: string): Buffer | undefined {
    if (text.length > CHARACTERS_MAX) return undefined;
    const bytes = Buffer.from(text, 'base64url');
    // Decoding passes over characters that are not base64url.
    if (bytes.length < SIGNATURE_BYTES || bytes.toString('base64url') !== text) return undefined;
    const payload = bytes.subarray(0, -SIGNATURE_BYTES);
    return timingSafeEqual(bytes.subarray(-SIGNATURE_BYTES), this.sign(place, payload)) ? payload : undefined;
  }

  /** The length keeps what ends the place from being taken for what begins the payload. */
  private sign(place: string, payload: Uint8Array): Buffer {
    const hmac = createHmac('sha256', this.key)
      .update(`${String(place.length)} ${place}`)
      .update(payload);
    return hmac.digest().subarray(0, SIGNATURE_BYTES);
  }
}
