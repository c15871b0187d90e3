import { CannotStart } from '../../shared/errors/cannot-start.ts';
import type { Foundation, WithKeyVault } from '../../shared/host/foundation.ts';
import { recordDestroyedKey } from '../../shared/key-vault/own-vault.ts';
import { systemClock, toIso, type Clock } from '../../shared/primitives/clock.ts';
import { publishedKeysAt, publishedUntil, signingKeyAt, signsFrom } from './sessions/domain/signing-schedule.ts';
import type { SigningKeyStore } from './sessions/signing-keys.ts';
import { SigningKeyVault } from './sessions/signing-keys.vault.ts';

export type { SigningKeyStore };

/** The token-signing keys of all account processes with this vault. */
export const signingKeyStore = (foundation: HoldsKeys): SigningKeyStore =>
  new SigningKeyVault(foundation.keyVault, foundation.masterKey, foundation.clock, (id) =>
    recordDestroyedKey(id, foundation),
  );

type HoldsKeys = Pick<Foundation & WithKeyVault, 'eventStore' | 'keyVault' | 'masterKey' | 'clock' | 'ids'>;

export interface RotatedKeys {
  /** The new key, and when it starts to sign. */
  kid: string;
  signsFrom: string;
  /** The other keys, and until when they verify tokens. */
  others: { kid: string; publishedUntil: string }[];
}

/** Adds a token-signing key, and removes keys whose last token has expired. */
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

/**
 * Destroys a key for ever: nothing that it signed is accepted any more.
 * @throws CannotStart if there is no such key, or it is the current signing key
 */
export const removeSigningKey = async (
  store: SigningKeyStore,
  kid: string,
  clock: Pick<Clock, 'now'> = systemClock,
): Promise<void> => {
  const keys = await store.load();
  const others = keys.filter((key) => key.kid !== kid);
  if (others.length === keys.length) {
    const known = keys.map((key) => key.kid).join(', ');
    throw new CannotStart(`no key that signs tokens has the id ${kid}: there are ${known}`);
  }
  if (signingKeyAt(keys, clock.now()).kid === kid) {
    throw new CannotStart(`the key ${kid} signs now: run "annals keys rotate", and remove it two minutes later`);
  }
  await store.keep(new Set(others.map((key) => key.kid)));
};
