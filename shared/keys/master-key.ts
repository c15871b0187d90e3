import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CannotStart } from '../errors/cannot-start.ts';
import { nodeErrorCode } from '../errors/node-error-code.ts';
import { makeFolder } from '../primitives/make-folder.ts';
import { createFileWhole } from '../primitives/write-file-whole.ts';
import type { Settings } from '../config/settings.ts';
import { KEY_BYTES } from './derive-key.ts';

/**
 * Returns the key from which all others are derived. Outside production it is created once, in a file in `DATA_DIR` that
 * only its owner can read.
 * @throws CannotStart
 */
export const loadMasterKey = ({ MASTER_KEY, DATA_DIR }: Pick<Settings, 'MASTER_KEY' | 'DATA_DIR'>): Buffer => {
  if (MASTER_KEY !== undefined) return Buffer.from(MASTER_KEY, 'base64');
  const file = fileOf(DATA_DIR);
  makeFolder(DATA_DIR);
  // The file is made before the vault is: looked at in this order, the vault does not seem to be there first.
  const isNeeded = existsSync(join(DATA_DIR, VAULT_FILE));
  const key = readKey(file);
  if (key) return key;
  if (!isNeeded) return makeKey(file);
  throw new CannotStart(
    `${file} is missing, and ${join(DATA_DIR, VAULT_FILE)} was encrypted with it: restore it from a copy, or set MASTER_KEY to the key that was in it`,
  );
};

/**
 * Returns the key that services without the key vault have: `EDGE_KEY`, from which nobody learns the master key. Where it is
 * not set, the master key serves. @throws CannotStart
 */
export const loadEdgeKey = (settings: Pick<Settings, 'MASTER_KEY' | 'EDGE_KEY' | 'DATA_DIR'>): Buffer =>
  settings.EDGE_KEY === undefined ? loadMasterKey(settings) : Buffer.from(settings.EDGE_KEY, 'base64');

/** The embedded key vault. */
export const VAULT_FILE = 'vault.db';
const fileOf = (dataFolder: string): string => join(dataFolder, 'master.key');

/** What messages call the master key. */
export const nameMasterKey = ({ MASTER_KEY, DATA_DIR }: Pick<Settings, 'MASTER_KEY' | 'DATA_DIR'>): string =>
  MASTER_KEY === undefined ? fileOf(DATA_DIR) : 'MASTER_KEY';

const readKey = (file: string): Buffer | undefined => {
  try {
    const key = Buffer.from(readFileSync(file, 'utf8'), 'base64');
    if (key.length !== KEY_BYTES) {
      throw new CannotStart(
        `${file} is damaged: restore it from a backup, or set MASTER_KEY to the key that was in it`,
      );
    }
    return key;
  } catch (error) {
    if (nodeErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
};

const makeKey = (file: string): Buffer => {
  createFileWhole(file, randomBytes(KEY_BYTES).toString('base64'), 0o600);
  return readKey(file) ?? makeKey(file);
};
