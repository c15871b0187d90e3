import { join } from 'node:path';
import type { Settings } from '../../shared/config/settings.ts';
import { systemClock, toIso, type Clock } from '../../shared/primitives/clock.ts';
import { publishedKeysAt, publishedUntil, signsFrom } from './domain/signing-schedule.ts';
import { resealKeyFiles, SigningKeyFiles } from './edge/signing-keys.file.ts';
import type { SigningKeyStore } from './edge/signing-keys.ts';

/** The keys that sign tokens, where the account processes with these settings have them. @throws CannotStart */
export const signingKeyStore = (
  { DATA_DIR }: Pick<Settings, 'DATA_DIR'>,
  masterKey: Uint8Array,
  clock: Clock = systemClock,
): SigningKeyStore => new SigningKeyFiles(join(DATA_DIR, 'keys'), masterKey, clock);

/** Encrypts the keys that sign tokens with another master key. @returns how many it has changed */
export const resealSigningKeys = ({ DATA_DIR }: { DATA_DIR: string }, from: Uint8Array, to: Uint8Array): number =>
  resealKeyFiles(join(DATA_DIR, 'keys'), from, to);

export interface RotatedKeys {
  /** The new key, and since when it signs. */
  kid: string;
  signsFrom: string;
  /** The others, and until when they verify tokens. */
  others: { kid: string; publishedUntil: string }[];
}

/** Adds a key that signs tokens, and forgets those whose last token has expired. */
export const rotateSigningKeys = async (
  store: SigningKeyStore,
  clock: Pick<Clock, 'now'> = systemClock,
): Promise<RotatedKeys> => {
  const published = publishedKeysAt(await store.load(), clock.now());
  await store.keep(new Set(published.map(({ kid }) => kid)));
  await store.add();
  const keys = await store.load();
  const newest = keys.at(-1);
  if (!newest) throw new Error('the key that was added is missing');
  return {
    kid: newest.kid,
    signsFrom: toIso(signsFrom(keys, keys.length - 1)),
    others: keys.slice(0, -1).map(({ kid }, at) => ({ kid, publishedUntil: toIso(publishedUntil(keys, at)) })),
  };
};
