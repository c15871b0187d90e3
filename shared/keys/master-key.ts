import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
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
  const file = join(DATA_DIR, 'master.key');
  makeFolder(DATA_DIR);
  return readKey(file) ?? makeKey(file);
};

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
