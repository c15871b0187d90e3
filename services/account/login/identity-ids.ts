import { createHmac } from 'node:crypto';
import type { LoginMethod } from '../../../schemas/values.ts';

/**
 * Names identities that are not public, such as addresses of email: under a key, so that nobody who reads the event store
 * finds one by trying.
 */
export class IdentityIds {
  /** @param key of the key vault, so that ids stay what they are when the master key is replaced */
  constructor(private readonly key: Uint8Array) {}

  /** @param text what identifies at this method, in its one form: an address of email in lower case */
  keyedIdentity(method: LoginMethod, text: string): string {
    return createHmac('sha256', this.key).update(`${method}:${text}`).digest('hex');
  }

  /** A person at a login provider, under whichever of the three names that provider is configured. */
  providerIdentity({ issuer, subject }: { issuer: string; subject: string }): string {
    const text = `oauth:${JSON.stringify([issuer, subject])}`;
    return createHmac('sha256', this.key).update(text).digest('hex');
  }
}
