import { createHmac, timingSafeEqual } from 'node:crypto';
import { deriveKey } from './derive-key.ts';

/** 128 bits cannot be guessed. */
const SIGNATURE_BYTES = 16;
/** Far more than the longest text needs. */
const CHARACTERS_MAX = 1_000;

/**
 * Opaque text that clients receive and send back. Any node accepts it, but only with the same master key, purpose and
 * context. base64url of the payload and the first bytes of an HMAC-SHA-256 over context and payload, so the same
 * payload gives the same text.
 */
export class SignedText {
  private readonly key: Uint8Array;

  constructor(masterKey: Uint8Array, purpose: string) {
    this.key = deriveKey(masterKey, purpose);
  }

  /** @param context required to read the text again, such as the id of its user */
  write(context: string, payload: Uint8Array | string): string {
    const bytes = Buffer.from(payload);
    return Buffer.concat([bytes, this.sign(context, bytes)]).toString('base64url');
  }

  /** Returns the payload; `undefined` for a text that was not written with this context. */
  read(context: string, text: string): Buffer | undefined {
    if (text.length > CHARACTERS_MAX) return undefined;
    const bytes = Buffer.from(text, 'base64url');
    // The decoder ignores characters that are not base64url, so compare the text with its canonical form.
    if (bytes.length < SIGNATURE_BYTES || bytes.toString('base64url') !== text) return undefined;
    const payload = bytes.subarray(0, -SIGNATURE_BYTES);
    return timingSafeEqual(bytes.subarray(-SIGNATURE_BYTES), this.sign(context, payload)) ? payload : undefined;
  }

  /** The length separates the context from the payload, so that no characters can move from one to the other. */
  private sign(context: string, payload: Uint8Array): Buffer {
    const hmac = createHmac('sha256', this.key)
      .update(`${String(context.length)} ${context}`)
      .update(payload);
    return hmac.digest().subarray(0, SIGNATURE_BYTES);
  }
}
