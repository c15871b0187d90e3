import { CannotStart } from '../../errors/cannot-start.ts';
import { tryOpenText } from '../../keys/sealed-text.ts';
import type { KeyVault, VaultKey } from '../key-vault.ts';
import { recordedVault, type OwnVault } from '../own-vault.ts';
import { opensCheck, sealCheck, wrappingKeyOf } from '../sealed-keys.ts';
import { readBackup } from './vault-backup.ts';
import { destroyedKeys, evidenceOfKeys, type Evidence } from '../vault-evidence.ts';

/** Keys compared and added in one batch. */
const KEYS_AT_ONCE = 500;
const NAMED_MAX = 10;

export interface Restored {
  added: number;
  /** Keys that the vault had already. */
  kept: number;
  /** Keys that the vault had with another value. */
  replaced: number;
  /** Keys that stay destroyed, whatever the backup has for them. */
  destroyed: number;
}

interface RestoreOptions {
  /** Whether the backup's keys replace keys of the vault that differ. The caller must hold the vault alone then. */
  replaces: boolean;
  /** ISO 8601. */
  at: string;
  /** Called with the number of keys done. */
  progress?: (keys: number) => void;
}

/**
 * Restores the keys of a backup that the vault lacks. A key stays destroyed if the backup, the vault or the event store
 * knows it as destroyed. Changes nothing unless the backup is complete, belongs to the event store, and the master key
 * opens each of its keys. Writes the identity last, so a partly restored vault is not used: repeat the restore then.
 * @param read reads the backup's lines from the beginning; called twice
 * @throws CannotStart
 */
export const restoreVault = async (
  own: OwnVault,
  read: () => AsyncIterable<string>,
  { replaces, at, progress }: RestoreOptions,
): Promise<Restored> => {
  const { keyVault, eventStore } = own;
  const wrappingKey = wrappingKeyOf(own.masterKey);
  const destroyed = await destroyedKeys(eventStore);
  const evidence = await evidenceOfKeys(eventStore, destroyed);
  const vaultId = await requireRestorable(own, read, { wrappingKey, evidence, destroyed, replaces });
  const check = (await keyVault.identity())?.check;
  for await (const ids of inParts(destroyed)) {
    const known = await keyVault.get(ids);
    for (const id of ids) if (known.get(id)?.sealed !== null) await keyVault.destroy(id, at);
  }
  const restored: Restored = { added: 0, kept: 0, replaced: 0, destroyed: 0 };
  for await (const keys of inParts(keysOf(read()))) {
    await restorePart(keyVault, keys, { wrappingKey, check, at, restored });
    progress?.(restored.added + restored.kept + restored.replaced + restored.destroyed);
  }
  if (vaultId !== undefined && check === undefined) {
    await keyVault.identify({ vaultId, check: sealCheck(wrappingKey, vaultId), isRewrapping: false }, undefined);
  }
  return restored;
};

interface Part {
  wrappingKey: Uint8Array;
  check: string | undefined;
  at: string;
  /** Counters, incremented here. */
  restored: Restored;
}

const restorePart = async (
  keyVault: KeyVault,
  keys: readonly VaultKey[],
  { wrappingKey, check, at, restored }: Part,
): Promise<void> => {
  const known = await keyVault.get(keys.map(({ id }) => id));
  const missing = keys.flatMap(({ id, sealed, createdAt }) =>
    sealed === null || known.has(id) ? [] : [{ id, sealed, createdAt }],
  );
  await keyVault.add(missing, check);
  restored.added += missing.length;
  for (const { id, sealed, destroyedAt } of keys) {
    const present = known.get(id);
    if (sealed === null || present?.sealed === null) {
      if (present?.sealed !== null) await keyVault.destroy(id, destroyedAt ?? at);
      restored.destroyed += 1;
    } else if (present && isSame(wrappingKey, present, sealed)) restored.kept += 1;
    else if (present) {
      await keyVault.reseal(id, present.sealed, sealed);
      restored.replaced += 1;
    }
  }
};

interface ToCompare {
  wrappingKey: Uint8Array;
  evidence: readonly Evidence[];
  destroyed: ReadonlySet<string>;
  replaces: boolean;
}

/** Returns the id for the restored vault, if it is known. @throws CannotStart if anything speaks against the backup */
const requireRestorable = async (
  own: OwnVault,
  read: () => AsyncIterable<string>,
  { wrappingKey, evidence, destroyed, replaces }: ToCompare,
): Promise<string | undefined> => {
  const { keyVault, names } = own;
  const vaultId = await vaultToRestore(own, wrappingKey);
  const differing: string[] = [];
  let backedUpId: string | undefined;
  for await (const keys of inParts(readBackup(read()))) {
    const known = await keyVault.get(keys.flatMap((key) => (isKey(key) ? [key.id] : [])));
    for (const key of keys) {
      if (!isKey(key)) backedUpId = key;
      else if (key.sealed !== null) {
        const opened = tryOpenText(wrappingKey, key.id, key.sealed);
        if (opened === undefined) throw notOpened(key.id, names.masterKey);
        const bytes = Buffer.from(opened, 'base64');
        if (evidence.some(({ id, fits }) => id === key.id && !fits(bytes))) throw foreign(key.id);
        const present = known.get(key.id);
        if (typeof present?.sealed !== 'string' || destroyed.has(key.id)) continue;
        if (!isSame(wrappingKey, present, key.sealed)) differing.push(key.id);
      }
    }
  }
  if (backedUpId !== undefined && vaultId !== undefined && backedUpId !== vaultId) {
    throw new CannotStart(
      `the backup is of another key vault (${backedUpId}) than the event store was used with (${vaultId}): name a backup of that one`,
    );
  }
  if (differing.length > 0 && !replaces) throw differ(differing, names.vault);
  return vaultId ?? backedUpId;
};

/**
 * Returns the id that the vault has, or had.
 * @throws CannotStart if this is another vault, or has another master key
 */
const vaultToRestore = async (own: OwnVault, wrappingKey: Uint8Array): Promise<string | undefined> => {
  const { keyVault, names } = own;
  const present = await keyVault.identity();
  const recorded = await recordedVault(own);
  if (!present) return recorded;
  if (recorded !== undefined && recorded !== present.vaultId) {
    throw new CannotStart(
      `${names.vault} is another key vault (${present.vaultId}) than the event store was used with (${recorded}): move it away, and restore into an empty one`,
    );
  }
  if (present.isRewrapping) {
    throw new CannotStart(`"annals vault rewrap" was not finished with ${names.vault}: run it again, then restore`);
  }
  if (!opensCheck(wrappingKey, present)) {
    throw new CannotStart(`${names.masterKey} is not the master key of ${names.vault}: set the right one`);
  }
  return present.vaultId;
};

const isSame = (wrappingKey: Uint8Array, { id, sealed }: VaultKey, other: string): boolean => {
  if (sealed === other) return true;
  const opened = sealed === null ? undefined : tryOpenText(wrappingKey, id, sealed);
  return opened !== undefined && opened === tryOpenText(wrappingKey, id, other);
};

const notOpened = (id: string, masterKey: string): CannotStart =>
  new CannotStart(
    `${masterKey} does not open the key ${id} of the backup: the backup was made with another master key, or is damaged; nothing was changed`,
  );

const foreign = (id: string): CannotStart =>
  new CannotStart(
    `the key ${id} of the backup is not the one that the event store was used with: name a backup of the right key vault; nothing was changed`,
  );

const differ = (ids: readonly string[], vault: string): CannotStart => {
  const more = ids.length > NAMED_MAX ? ` and ${String(ids.length - NAMED_MAX)} more` : '';
  const named = `${ids.slice(0, NAMED_MAX).join(', ')}${more}`;
  return new CannotStart(
    `${vault} has other keys than the backup: ${named}; nothing was changed. --replace takes those of the backup, for good`,
  );
};

const isKey = (read: string | undefined | VaultKey): read is VaultKey => typeof read === 'object';

async function* keysOf(lines: AsyncIterable<string>): AsyncGenerator<VaultKey> {
  for await (const read of readBackup(lines)) if (isKey(read)) yield read;
}

async function* inParts<Item>(items: AsyncIterable<Item> | Iterable<Item>): AsyncGenerator<Item[]> {
  let part: Item[] = [];
  for await (const item of items) {
    part.push(item);
    if (part.length < KEYS_AT_ONCE) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}
