import { SESSION_IDLE_MS } from './session.ts';

/**
 * How long a new key is published before it signs tokens: twice the time after which verifiers must have fetched the
 * keys again.
 */
export const PUBLISHED_FIRST_MS = 120_000;
/** Maximum difference between the clocks of two processes. */
const CLOCKS_MS = 3_600_000;

interface Created {
  /** Unix milliseconds. */
  createdAt: number;
}

/** When a key starts to sign tokens. The first key exists before any verifier. */
export const signsFrom = (keys: readonly Created[], at: number): number => {
  const key = keys[at];
  return at === 0 || !key ? -Infinity : key.createdAt + PUBLISHED_FIRST_MS;
};

/**
 * Until when a key must be published: by then the last token that it signed has expired. `Infinity` for the newest key.
 */
export const publishedUntil = (keys: readonly Created[], at: number): number =>
  at + 1 < keys.length ? signsFrom(keys, at + 1) + SESSION_IDLE_MS + CLOCKS_MS : Infinity;

/** @param keys in the order of creation; at least one */
export const signingKeyAt = <Key extends Created>(keys: readonly Key[], nowMs: number): Key => {
  const key = keys.findLast((_, at) => signsFrom(keys, at) <= nowMs);
  if (!key) throw new Error('there is no signing key');
  return key;
};

/** Returns the keys that verify tokens. */
export const publishedKeysAt = <Key extends Created>(keys: readonly Key[], nowMs: number): Key[] =>
  keys.filter((_, at) => nowMs < publishedUntil(keys, at));
