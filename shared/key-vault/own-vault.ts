import { VAULT_STREAM, type VaultEvent } from '../../schemas/events/vault-events.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { operatorMetadata, systemMetadata } from '../event-store/transactions/own-metadata.ts';
import { Transactor } from '../event-store/transactions/transact.ts';
import { toIso, type Clock } from '../primitives/clock.ts';
import type { Ids } from '../primitives/ids.ts';
import type { KeyVault, VaultIdentity } from './key-vault.ts';
import { opensCheck, sealCheck, SealedKeys, wrappingKeyOf } from './sealed-keys.ts';
import { destroyedKeys, evidenceOfKeys } from './vault-evidence.ts';
import { DATA_KEY_PREFIX, firstKeys } from './vault-keys.ts';

export interface OwnVault {
  eventStore: EventStore;
  keyVault: KeyVault;
  masterKey: Uint8Array;
  clock: Clock;
  ids: Ids;
  /** How messages name the vault and the master key. */
  names: { vault: string; masterKey: string };
}

/** The id of the vault that the event store was used with. */
const vaultFold = {
  initial: undefined as string | undefined,
  evolve: (vaultId: string | undefined, { type, data }: VaultEvent): string | undefined =>
    type === 'VaultIdentified' ? data.vaultId : vaultId,
};

/**
 * Compares the vault with the one that the event store was used with, and the master key with the vault's.
 * @param makes whether to create a vault where there never was one, and to give a vault of an earlier version an
 * identity
 * @throws CannotStart
 */
export const requireOwnVault = async (own: OwnVault, { makes }: { makes: boolean }): Promise<void> => {
  const { keyVault, names } = own;
  const { recorded, present } = await compareVaults(own);
  if (present) requireMasterKey(present, own);
  if (recorded === undefined) {
    await requireFittingKeys(own);
    await requireUsers(own);
    if (makes) await recordVault(own, await makeVault(own));
    else if (!present && (await keyVault.list('', 1)).length === 0) {
      throw new CannotStart(
        `${names.vault} has no keys yet: they are made by the first start of "npm start" or "annals account", and by "annals chain prepare"`,
      );
    }
  }
  await keyVault.use('shared');
  // Another process may have replaced the master key just now.
  const identity = await keyVault.identity();
  if (identity) requireMasterKey(identity, own);
};

/**
 * Returns the ids of the vault that the event store was used with, and of this one.
 * @throws CannotStart if they differ, or if this vault was lost
 */
export const compareVaults = async (
  own: Omit<OwnVault, 'masterKey'>,
): Promise<{ recorded: string | undefined; present: VaultIdentity | undefined }> => {
  const { keyVault, names } = own;
  const recorded = await recordedVault(own);
  const present = await keyVault.identity();
  if (recorded === undefined || recorded === present?.vaultId) return { recorded, present };
  throw new CannotStart(
    present
      ? `${names.vault} is another key vault (${present.vaultId}) than the event store was used with (${recorded}): put that one back, or move this one away and run "annals vault restore <backup>"`
      : `${names.vault} is empty or restored in part, and the event store was used with a key vault (${recorded}): put it back, or run "annals vault restore <backup>"`,
  );
};

/** Returns the id of the vault that the event store was used with. */
export const recordedVault = async ({
  eventStore,
  clock,
  ids,
}: Pick<OwnVault, 'eventStore' | 'clock' | 'ids'>): Promise<string | undefined> => {
  const { state } = await new Transactor(eventStore, clock, ids).load(VAULT_STREAM, vaultFold);
  return state;
};

/**
 * Checks keys against the evidence in stored events, as long as the event store has no vault recorded.
 * @throws CannotStart
 */
const requireFittingKeys = async ({ eventStore, keyVault, masterKey, names }: OwnVault): Promise<void> => {
  const keys = new SealedKeys(keyVault, masterKey);
  const evidence = await evidenceOfKeys(eventStore, await destroyedKeys(eventStore));
  const found = await keyVault.get(evidence.map(({ id }) => id));
  for (const { id, fits } of evidence) {
    const stored = found.get(id);
    const key = stored && keys.open(stored);
    if (key && fits(key)) continue;
    const what = stored ? `the key ${id} of ${names.vault} is not the one` : `${names.vault} lacks the key ${id}`;
    throw new CannotStart(
      `${what} that the event store was used with: put the right key vault back, or run "annals vault restore <backup>"`,
    );
  }
};

/**
 * Refuses a vault with keys of users beside an event store that has no vault recorded and knows no user: the event store
 * was lost. A vault without such keys was made by a first start that was interrupted.
 * @throws CannotStart
 */
const requireUsers = async ({ eventStore, keyVault, names }: OwnVault): Promise<void> => {
  const [first] = await keyVault.list(DATA_KEY_PREFIX, 1);
  if (first?.id.startsWith(DATA_KEY_PREFIX) !== true) return;
  const { events } = await eventStore.readAll(0, { types: ['IdentityClaimed'] }, 1);
  if (events.length > 0) return;
  throw new CannotStart(
    `${names.vault} has keys of users, and the event store knows no user: put back the event store that the key vault belongs to, with "annals backup restore <folder>" if there is a backup, or move the key vault away`,
  );
};

/** @throws CannotStart */
const requireMasterKey = (identity: VaultIdentity, { masterKey, names }: OwnVault): void => {
  if (!opensCheck(wrappingKeyOf(masterKey), identity)) {
    throw new CannotStart(
      `${names.masterKey} is not the master key of ${names.vault}: put back the one that the key vault was made with or last encrypted with by "annals vault rewrap"`,
    );
  }
  if (!identity.isRewrapping) return;
  throw new CannotStart(
    `"annals vault rewrap" was not finished with ${names.vault}: run it again, with the same two keys`,
  );
};

/**
 * Gives a vault an identity and its first keys, unless it has them. Of several concurrent processes, each may do a part
 * of it.
 */
export const makeVault = async ({
  keyVault,
  masterKey,
  clock,
  ids,
}: Pick<OwnVault, 'keyVault' | 'masterKey' | 'clock' | 'ids'>): Promise<VaultIdentity> => {
  const vaultId = `vlt_${ids.token(26)}`;
  const fresh = { vaultId, check: sealCheck(wrappingKeyOf(masterKey), vaultId), isRewrapping: false };
  const identity = await keyVault.identify(fresh, undefined);
  await new SealedKeys(keyVault, masterKey).add(firstKeys(), toIso(clock.now()));
  return identity;
};

/** Recorded once the first keys exist. From then on, none of them is created again. */
const recordVault = async (
  { eventStore, clock, ids, names }: OwnVault,
  { vaultId }: Pick<VaultIdentity, 'vaultId'>,
): Promise<void> => {
  const { state } = await new Transactor(eventStore, clock, ids).transact({
    stream: VAULT_STREAM,
    fold: vaultFold,
    metadata: systemMetadata(ids, 'key vault'),
    decide: (known): VaultEvent[] => (known === undefined ? [{ type: 'VaultIdentified', data: { vaultId } }] : []),
  });
  if (state === vaultId) return;
  throw new CannotStart(
    `another process has just used the event store with another key vault than ${names.vault}: correct the settings of one of the two`,
  );
};

/** Records that a key is destroyed, so that no restored backup brings it back. */
export const recordDestroyedKey = async (
  keyId: string,
  { eventStore, clock, ids }: Pick<OwnVault, 'eventStore' | 'clock' | 'ids'>,
): Promise<void> => {
  await new Transactor(eventStore, clock, ids).transact({
    stream: VAULT_STREAM,
    fold: vaultFold,
    metadata: operatorMetadata(ids),
    decide: (): VaultEvent[] => [{ type: 'VaultKeyDestroyed', data: { keyId } }],
  });
};
