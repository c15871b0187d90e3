import { createHmac } from 'node:crypto';
import { deriveKey } from '../../../../shared/keys/derive-key.ts';
import { encodeToken } from '../../../../shared/primitives/ids.ts';

/**
 * The codes that the bot gives. A code follows from state and person, so that none is stored, and a call of the webhook that
 * the messenger repeats gives the same one again.
 */
export class BotCodes {
  private readonly key: Uint8Array;

  constructor(masterKey: Uint8Array) {
    this.key = deriveKey(masterKey, 'bot codes');
  }

  /** 130 bits. */
  codeFor(state: string, messengerId: string): string {
    const text = JSON.stringify([state, messengerId]);
    return encodeToken(createHmac('sha256', this.key).update(text).digest(), 26);
  }
}
