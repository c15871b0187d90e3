import { sealedText } from '../../schemas/events/event.ts';
import { chainOfStream, onchainEvents } from '../../schemas/events/onchain/onchain-events.ts';
import { logEvents } from '../../schemas/events/account/log-events.ts';
import { userEvents } from '../../schemas/events/account/user-events.ts';
import { vaultEvents } from '../../schemas/events/vault-events.ts';
import type { EventStore, Position } from '../event-store/event-store.ts';
import { readEvery } from '../event-store/read-every.ts';
import { addressOfKey } from '../keys/signatures/secp256k1-keys.ts';
import { publicKeyOfSeed } from '../keys/signatures/ed25519-keys.ts';
import { opensSealed } from './sealed-members.ts';
import { chainKeyIds, LOG_KEY, userKeyIds } from './vault-keys.ts';

/** Evidence about a key, from stored events. */
export interface Evidence {
  /** The id of a key that must exist. */
  id: string;
  fits: (key: Buffer) => boolean;
}

/**
 * Returns the ids of destroyed keys, whether a vault still knows them or not.
 * @param after only of keys that were destroyed after this position
 */
export const destroyedKeys = async (
  eventStore: Pick<EventStore, 'readAll'>,
  after: Position = 0,
): Promise<Set<string>> => {
  const destroyed = new Set<string>();
  for await (const { type, data } of readEvery(eventStore, {
    after,
    filter: { types: ['UserErased', 'VaultKeyDestroyed'] },
  })) {
    if (type === 'VaultKeyDestroyed') destroyed.add(vaultEvents.VaultKeyDestroyed.data.parse(data).keyId);
    else for (const id of userKeyIds(userEvents.UserErased.data.parse(data).userId)) destroyed.add(id);
  }
  return destroyed;
};

/**
 * Returns evidence of three kinds: the key of the first sealed text whose user was not erased, the keys with which
 * chains were prepared, and the key of the transparency log. Empty if no key was ever used.
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
  for await (const { data } of readEvery(eventStore, { filter: { types: ['LogKeyMade'] } })) {
    const { publicKey } = logEvents.LogKeyMade.data.parse(data);
    evidence.push({ id: LOG_KEY, fits: (key) => publicKeyOfSeed(key).toString('base64') === publicKey });
  }
  for await (const { data } of readEvery(eventStore, { filter: { types: ['IdentityClaimed'] } })) {
    const { success, data: label } = sealedText.safeParse(data['label']);
    if (!success || destroyed.has(label.kid)) continue;
    evidence.push({ id: label.kid, fits: (key) => opensSealed(key, label) });
    break;
  }
  return evidence;
};
