import { z } from 'zod';
import { CannotStart } from '../../errors/cannot-start.ts';
import { safeParse } from '../../primitives/text/safe-parse.ts';
import { everyKey } from '../every-key.ts';
import type { KeyVault, VaultKey } from '../key-vault.ts';

/** The first line. Version 1 has neither an identity nor a last line. */
const heading = z.object({
  annalsKeyVault: z.union([z.literal(1), z.literal(2)]),
  at: z.iso.datetime(),
  vaultId: z.string().optional(),
});
const backedUpKey = z.object({
  id: z.string(),
  sealed: z.string().nullable(),
  createdAt: z.string(),
  destroyedAt: z.string().nullable(),
});
/** The last line: how many keys come before it. */
const ending = z.object({ keys: z.int().nonnegative() });

/**
 * Yields the lines of a backup: each key as it is stored, so that only the master key opens it. A key added meanwhile
 * may be missing. Of a user's two keys, the owner key is stored first and listed last, so a backup with the data key
 * has the owner key too.
 */
export async function* backupVault(vault: KeyVault, at: string): AsyncGenerator<string> {
  const identity = await vault.identity();
  yield `${JSON.stringify({ annalsKeyVault: 2, at, vaultId: identity?.vaultId })}\n`;
  let keys = 0;
  for await (const key of everyKey(vault)) {
    keys += 1;
    yield `${JSON.stringify(key)}\n`;
  }
  yield `${JSON.stringify({ keys })}\n`;
}

/** Yields the lines of a backup again, without the keys in `destroyed`, of which only the ids are left. */
export async function* withoutKeys(
  lines: AsyncIterable<string>,
  destroyed: ReadonlySet<string>,
  at: string,
): AsyncGenerator<string> {
  for await (const line of lines) {
    const { data: key } = safeParse(backedUpKey, parsed(line));
    const isDestroyed = key?.sealed != null && destroyed.has(key.id);
    yield `${isDestroyed ? JSON.stringify({ ...key, sealed: null, destroyedAt: at }) : line}\n`;
  }
}

/**
 * Yields the id of the vault (`undefined` for version 1), then the keys of a backup.
 * @throws CannotStart if the backup is incomplete
 */
export async function* readBackup(lines: AsyncIterable<string>): AsyncGenerator<string | undefined | VaultKey> {
  let number = 0;
  let keys = 0;
  let version = 0;
  let isEnded = false;
  for await (const line of lines) {
    number += 1;
    if (line === '') continue;
    const read = parsed(line);
    const head = number === 1 ? safeParse(heading, read) : undefined;
    const key = safeParse(backedUpKey, read);
    const end = safeParse(ending, read);
    if (head?.success) {
      version = head.data.annalsKeyVault;
      yield head.data.vaultId;
    } else if (number > 1 && !isEnded && key.success) {
      keys += 1;
      yield key.data;
    } else if (number > 1 && !isEnded && end.success && end.data.keys === keys) isEnded = true;
    else throw new CannotStart(`line ${String(number)} is not of a backup of a key vault`);
  }
  if (version === 0) throw new CannotStart('the backup is empty');
  if (version > 1 && !isEnded) throw new CannotStart('the backup is incomplete: its last line is missing');
}

const parsed = (line: string): unknown => {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
};
