import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CannotStart } from '../errors/cannot-start.ts';
import { makeFolder } from '../primitives/files/make-folder.ts';
import { readIfThere } from '../primitives/files/read-if-there.ts';
import { createFileWhole } from '../primitives/files/write-file-whole.ts';
import type { Settings } from '../config/settings.ts';
import { KEY_BYTES } from './derive-key.ts';

/**
 * Returns the key from which all others are derived. Outside production, creates it once, in a file in `DATA_DIR` that
 * only its owner can read.
 * @throws CannotStart
 */
export const loadMasterKey = ({ MASTER_KEY, DATA_DIR }: Pick<Settings, 'MASTER_KEY' | 'DATA_DIR'>): Buffer => {
  if (MASTER_KEY !== undefined) return Buffer.from(MASTER_KEY, 'base64');
  const file = fileOf(DATA_DIR);
  makeFolder(DATA_DIR);
  // Checked before the key is read: the key file is created before the vault, so a concurrent first start cannot look
  // like a lost key.
  const isNeeded = existsSync(join(DATA_DIR, VAULT_FILE));
  const key = readKey(file);
  if (key) return key;
  if (!isNeeded) return makeKey(file);
  throw new CannotStart(
    `${file} is missing, and ${join(DATA_DIR, VAULT_FILE)} was encrypted with it: restore it from a copy, or set MASTER_KEY to the key that was in it`,
  );
};

/**
 * Returns the key of services without the key vault: `EDGE_KEY`, which does not reveal the master key; the master key
 * if `EDGE_KEY` is not set.
 * @throws CannotStart
 */
export const loadEdgeKey = (settings: Pick<Settings, 'MASTER_KEY' | 'EDGE_KEY' | 'DATA_DIR'>): Buffer =>
  settings.EDGE_KEY === undefined ? loadMasterKey(settings) : Buffer.from(settings.EDGE_KEY, 'base64');

/** File name of the embedded key vault. */
export const VAULT_FILE = 'vault.db';
export const MASTER_KEY_FILE = 'master.key';
const fileOf = (dataFolder: string): string => join(dataFolder, MASTER_KEY_FILE);

/** How messages name the master key. */
export const nameMasterKey = ({ MASTER_KEY, DATA_DIR }: Pick<Settings, 'MASTER_KEY' | 'DATA_DIR'>): string =>
  MASTER_KEY === undefined ? fileOf(DATA_DIR) : 'MASTER_KEY';

const readKey = (file: string): Buffer | undefined => {
  const text = readIfThere(file);
  if (text === undefined) return undefined;
  const key = Buffer.from(text, 'base64');
  if (key.length === KEY_BYTES) return key;
  throw new CannotStart(`${file} is damaged: restore it from a backup, or set MASTER_KEY to the key that was in it`);
};

const makeKey = (file: string): Buffer => {
  createFileWhole(file, randomBytes(KEY_BYTES).toString('base64'), 0o600);
  return readKey(file) ?? makeKey(file);
};
