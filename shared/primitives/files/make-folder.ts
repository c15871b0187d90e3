import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Makes a folder and its parents, safely beside another process that does the same. Node's recursive `mkdir` never
 * returns on a file system that only answers "not found".
 * @param mode of the folder itself, if it is created
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
