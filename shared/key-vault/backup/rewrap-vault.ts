import { CannotStart } from '../../errors/cannot-start.ts';
import { openText, sealText, tryOpenText } from '../../keys/sealed-text.ts';
import { everyKey } from '../every-key.ts';
import type { KeyVault } from '../key-vault.ts';
import { opensCheck, sealCheck, wrappingKeyOf } from '../sealed-keys.ts';

const NAMED_MAX = 10;

export interface VaultStatus {
  keys: number;
  destroyed: number;
  /** Number of keys that this master key does not open. */
  unreadable: number;
  /** The ids of the first ten unreadable keys. */
  unreadableIds: string[];
}

export const vaultStatus = async (vault: KeyVault, masterKey: Uint8Array): Promise<VaultStatus> => {
  const key = wrappingKeyOf(masterKey);
  const status: VaultStatus = { keys: 0, destroyed: 0, unreadable: 0, unreadableIds: [] };
  for await (const { id, sealed } of everyKey(vault)) {
    status.keys += 1;
    if (sealed === null) status.destroyed += 1;
    else if (!opens(key, id, sealed)) {
      status.unreadable += 1;
      if (status.unreadable <= NAMED_MAX) status.unreadableIds.push(id);
    }
  }
  return status;
};

interface MasterKeys {
  from: Uint8Array;
  to: Uint8Array;
  /** Called with the number of keys encrypted again. */
  progress?: (keys: number) => void;
}

/**
 * Encrypts every key with another master key. The caller must hold the vault alone. Replaces the check value first, so
 * that no process uses a vault with keys of both master keys, and none adds keys with the former one. After a crash, a
 * repeated call leaves finished keys as they are.
 * @returns how many keys it has changed
 * @throws CannotStart if neither master key opens the vault, or one of its keys; nothing is changed then
 */
export const rewrapVault = async (vault: KeyVault, { from, to, progress }: MasterKeys): Promise<number> => {
  const [before, after] = [wrappingKeyOf(from), wrappingKeyOf(to)];
  const identity = await vault.identity();
  if (identity && !opensCheck(before, identity) && !opensCheck(after, identity)) {
    throw new CannotStart('the key vault was encrypted with neither of the two master keys: nothing was changed');
  }
  for await (const { id, sealed } of everyKey(vault)) {
    if (sealed === null || opens(after, id, sealed) || opens(before, id, sealed)) continue;
    const repair = 'if it is damaged, restore it with "annals vault restore --replace" and the former master key first';
    throw new CannotStart(`the key ${id} is opened by neither of the two master keys: nothing was changed; ${repair}`);
  }
  const { vaultId } = identity ?? {};
  const check = vaultId === undefined ? undefined : sealCheck(after, vaultId);
  if (vaultId !== undefined && check !== undefined) {
    await vault.identify({ vaultId, check, isRewrapping: true }, identity?.check);
  }
  let changed = 0;
  for await (const { id, sealed } of everyKey(vault)) {
    if (sealed === null || opens(after, id, sealed)) continue;
    await vault.reseal(id, sealed, sealText(after, id, openText(before, id, sealed)));
    changed += 1;
    progress?.(changed);
  }
  if (vaultId !== undefined && check !== undefined)
    await vault.identify({ vaultId, check, isRewrapping: false }, check);
  return changed;
};

const opens = (key: Uint8Array, id: string, sealed: string): boolean => tryOpenText(key, id, sealed) !== undefined;
