import { z } from 'zod';
import { CannotStart } from '../errors/cannot-start.ts';
import { openText, sealText, tryOpenText } from '../keys/sealed-text.ts';
import { everyKey } from './every-key.ts';
import { userKeyIds, wrappingKeyOf } from './vault-keys.ts';
import type { KeyVault, VaultKey } from './key-vault.ts';

/** The first line of a backup. */
const heading = z.object({ annalsKeyVault: z.literal(1), at: z.iso.datetime() });
const backedUpKey = z.object({
  id: z.string(),
  sealed: z.string().nullable(),
  createdAt: z.string(),
  destroyedAt: z.string().nullable(),
});

export interface VaultStatus {
  keys: number;
  destroyed: number;
  /** Those that this master key does not open. */
  unreadable: number;
}

export interface Restored {
  added: number;
  /** Those that the vault had. */
  kept: number;
  /** Those that stay destroyed, whatever the backup has of them. */
  destroyed: number;
}

export const vaultStatus = async (vault: KeyVault, masterKey: Uint8Array): Promise<VaultStatus> => {
  const key = wrappingKeyOf(masterKey);
  const status = { keys: 0, destroyed: 0, unreadable: 0 };
  for await (const { id, sealed } of everyKey(vault)) {
    status.keys += 1;
    if (sealed === null) status.destroyed += 1;
    else if (!opens(key, id, sealed)) status.unreadable += 1;
  }
  return status;
};

/** Yields the lines of a backup: each key as it is stored, so that only the master key opens it. */
export async function* backupVault(vault: KeyVault, at: string): AsyncGenerator<string> {
  yield `${JSON.stringify({ annalsKeyVault: 1, at })}\n`;
  for await (const key of everyKey(vault)) yield `${JSON.stringify(key)}\n`;
}

/**
 * Restores what is missing of a backup. What was destroyed since stays so: what the backup, the vault or the event store
 * knows as destroyed. Nothing is restored unless the master key opens all of it.
 * @param erasedUsers the ids of all users whom the event store knows as erased
 * @throws CannotStart
 */
export const restoreVault = async (
  vault: KeyVault,
  lines: AsyncIterable<string>,
  { masterKey, erasedUsers, at }: { masterKey: Uint8Array; erasedUsers: Iterable<string>; at: string },
): Promise<Restored> => {
  const key = wrappingKeyOf(masterKey);
  const keys = await readBackup(lines);
  const foreign = keys.find(({ id, sealed }) => sealed !== null && !opens(key, id, sealed));
  if (foreign) throw new CannotStart('the backup was made with another MASTER_KEY: set the one that it was made with');
  const restored = { added: 0, kept: 0, destroyed: 0 };
  for (const id of [...erasedUsers].flatMap(userKeyIds)) await vault.destroy(id, at);
  for (const { id, sealed, createdAt, destroyedAt } of keys) {
    const known = (await vault.get([id])).get(id);
    if (sealed === null) await vault.destroy(id, destroyedAt ?? at);
    if (sealed === null || known?.sealed === null) restored.destroyed += 1;
    else if (known) restored.kept += 1;
    else {
      await vault.add([{ id, sealed, createdAt }]);
      restored.added += 1;
    }
  }
  return restored;
};

/**
 * Encrypts every key with another master key. It may be repeated after a crash: those that are done are left as they are.
 * @returns how many it has changed
 * @throws CannotStart if neither of the two opens a key; nothing is changed then
 */
export const rewrapVault = async (vault: KeyVault, from: Uint8Array, to: Uint8Array): Promise<number> => {
  const [before, after] = [wrappingKeyOf(from), wrappingKeyOf(to)];
  const keys: (VaultKey & { sealed: string })[] = [];
  for await (const { sealed, ...key } of everyKey(vault)) {
    if (sealed === null || opens(after, key.id, sealed)) continue;
    if (!opens(before, key.id, sealed)) {
      throw new CannotStart('a key of the vault is opened by neither of the two master keys: nothing was changed');
    }
    keys.push({ ...key, sealed });
  }
  for (const { id, sealed } of keys) await vault.reseal(id, sealed, sealText(after, id, openText(before, id, sealed)));
  return keys.length;
};

const readBackup = async (lines: AsyncIterable<string>): Promise<VaultKey[]> => {
  const keys: VaultKey[] = [];
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (line === '') continue;
    const schema = number === 1 ? heading : backedUpKey;
    const read = schema.safeParse(parsed(line));
    if (!read.success) throw new CannotStart(`line ${String(number)} is not of a backup of a key vault`);
    if ('id' in read.data) keys.push(read.data);
  }
  if (number === 0) throw new CannotStart('the backup is empty');
  return keys;
};

const parsed = (line: string): unknown => {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
};

const opens = (key: Uint8Array, id: string, sealed: string): boolean => tryOpenText(key, id, sealed) !== undefined;
