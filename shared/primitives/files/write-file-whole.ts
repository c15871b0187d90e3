import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { nodeErrorCode } from '../errors/node-error-code.ts';

/**
 * Replaces a file atomically: a reader, or a start after a crash, finds the old text or the new one, never a part, and
 * a start after a power cut the new one.
 */
export const writeFileWhole = (file: string, text: string, mode: number): void => {
  withText(file, text, mode, (written) => {
    renameSync(written, file);
  });
};

/** Creates a file atomically, unless it exists: of two processes that create it at once, both find the first one's. */
export const createFileWhole = (file: string, text: string, mode: number): void => {
  withText(file, text, mode, (written) => {
    link(written, file);
  });
};

/** Does the same with a text that comes piece by piece. @returns whether this created it */
export const createFileOf = async (file: string, pieces: AsyncIterable<string>, mode: number): Promise<boolean> => {
  const written = `${file}.${randomUUID()}`;
  try {
    const handle = await open(written, 'wx', mode);
    try {
      await handle.writeFile(pieces);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const isCreated = link(written, file);
    syncFolder(dirname(file));
    return isCreated;
  } finally {
    rmSync(written, { force: true });
  }
};

/** @returns whether there was none of that name */
const link = (written: string, file: string): boolean => {
  try {
    linkSync(written, file);
    return true;
  } catch (error) {
    if (nodeErrorCode(error) !== 'EEXIST') throw error;
    return false;
  }
};

/**
 * A process id would not be a unique name: containers that share a folder may have the same ones, and so may a restart.
 */
const withText = (file: string, text: string, mode: number, put: (written: string) => void): void => {
  const written = `${file}.${randomUUID()}`;
  try {
    const descriptor = openSync(written, 'wx', mode);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    put(written);
    syncFolder(dirname(file));
  } finally {
    rmSync(written, { force: true });
  }
};

/** Without it, a file that is on the disk may have no name there yet. */
const syncFolder = (folder: string): void => {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};
