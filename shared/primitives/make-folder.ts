import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Makes a folder and those above it. Node's own recursion does not end where the file system only says "not found". */
export const makeFolder = (folder: string): void => {
  const path = resolve(folder);
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, { recursive: false });
};
