import { Refusal } from '../../../shared/errors/refusal.ts';

/** @throws Refusal signature_malformed for anything but 65 bytes of hex */
export const readSignature = (text: string): string => {
  if (!/^0x[0-9a-fA-F]{130}$/.test(text)) {
    throw new Refusal('signature_malformed', 'a signature is 0x and 130 hex digits');
  }
  return text.toLowerCase();
};

/** What an app signs of a request. */
export interface SignedParts {
  method: string;
  /** Path and query, as sent. */
  url: string;
  origin: string;
  timestamp: string;
  apiKey: string;
  /** SHA-256 of the raw body, lower hex. */
  bodyHash: string;
}

/** Scheme `v1`: says who calls and when, not what; stays valid for the window of the timestamp. */
export const v1Text = ({ origin, timestamp, apiKey }: SignedParts): string =>
  `${new URL(origin).hostname}:${timestamp}:${apiKey}`.toLowerCase();

/** Scheme `v2`: says all of it, once. */
export const v2Text = ({ method, url, origin, timestamp, apiKey, bodyHash }: SignedParts): string =>
  ['v2', method, url, timestamp, origin, apiKey, bodyHash].join('\n');
