import { sealedText } from '../../schemas/events/event.ts';
import { chainOfStream, onchainEvents } from '../../schemas/events/onchain-events.ts';
import { userEvents } from '../../schemas/events/user-events.ts';
import { vaultEvents } from '../../schemas/events/vault-events.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { readEvery } from '../event-store/read-every.ts';
import { addressOfKey } from '../keys/secp256k1-keys.ts';
import { opensSealed } from './sealed-members.ts';
import { chainKeyIds, userKeyIds } from './vault-keys.ts';

/** What stored events tell of a key. */
export interface Evidence {
  /** The key that there must be. */
  id: string;
  fits: (key: Buffer) => boolean;
}

/** Returns the ids of keys that were destroyed, whether a vault still knows it or not. */
export const destroyedKeys = async (eventStore: Pick<EventStore, 'readAll'>): Promise<Set<string>> => {
  const destroyed = new Set<string>();
  for await (const { type, data } of readEvery(eventStore, {
    filter: { types: ['UserErased', 'VaultKeyDestroyed'] },
  })) {
    if (type === 'VaultKeyDestroyed') destroyed.add(vaultEvents.VaultKeyDestroyed.data.parse(data).keyId);
    else for (const id of userKeyIds(userEvents.UserErased.data.parse(data).userId)) destroyed.add(id);
  }
  return destroyed;
};

/**
 * Returns evidence of the key that the first text was encrypted with whose user was not erased, and of the keys that
 * chains were prepared with: nothing where no key was ever used.
 */
export const evidenceOfKeys = async (
  eventStore: Pick<EventStore, 'readAll'>,
  destroyed: ReadonlySet<string>,
): Promise<Evidence[]> => {
  const evidence: Evidence[] = [];
  for await (const { stream, data } of readEvery(eventStore, { filter: { types: ['ChainPrepared'] } })) {
    const { paymasterOwner, executors } = onchainEvents.ChainPrepared.data.parse(data);
    const addresses = [paymasterOwner, ...executors];
    for (const [at, id] of chainKeyIds(chainOfStream(stream), executors.length).entries()) {
      evidence.push({ id, fits: (key) => addressOfKey(key) === addresses[at] });
    }
  }
  for await (const { data } of readEvery(eventStore, { filter: { types: ['IdentityClaimed'] } })) {
    const { success, data: label } = sealedText.safeParse(data['label']);
    if (!success || destroyed.has(label.kid)) continue;
    evidence.push({ id: label.kid, fits: (key) => opensSealed(key, label) });
    break;
  }
  return evidence;
};
