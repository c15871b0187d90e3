import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Makes a folder and those above it, also while another process does.
 * Node's own recursion does not end where the file system only says "not found".
 * @param mode of the folder itself where it is not there yet
 */
export const makeFolder = (folder: string, mode?: number): void => {
  const path = resolve(folder);
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!existsSync(path)) throw error;
  }
};
