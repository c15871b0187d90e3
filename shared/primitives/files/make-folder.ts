import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Makes a folder and its parents, also while another process does so. Node's recursive `mkdir` does not end on a file
 * system that only answers "not found".
 * @param mode of the folder itself if it is created
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
