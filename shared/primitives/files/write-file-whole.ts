import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { nodeErrorCode } from '../../errors/node-error-code.ts';

/**
 * Replaces a file atomically. A reader, or a start after a crash, finds the old text or the new one, never a part; a
 * start after a power cut finds the new one.
 */
export const writeFileWhole = (file: string, text: string, mode: number): void => {
  withText(file, text, mode, (written) => {
    renameSync(written, file);
  });
};

/** Creates a file atomically, unless it exists. If two processes create it at once, both find the file of the first. */
export const createFileWhole = (file: string, text: string, mode: number): void => {
  withText(file, text, mode, (written) => {
    link(written, file);
  });
};

/** Like `createFileWhole`, with a text that arrives in pieces. @returns whether this call created the file */
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

/** @returns `false` if a file of that name exists */
const link = (written: string, file: string): boolean => {
  try {
    linkSync(written, file);
    return true;
  } catch (error) {
    if (nodeErrorCode(error) !== 'EEXIST') throw error;
    return false;
  }
};

/** A process id would not be unique: containers that share a folder may have the same ids, and so may a restart. */
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

/** Without this, a file whose content is on the disk may have no name there yet. */
export const syncFolder = (folder: string): void => {
  syncFile(folder);
};

/** Waits until the content of a file, or the names in a folder, are on the disk. */
export const syncFile = (path: string): void => {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};
