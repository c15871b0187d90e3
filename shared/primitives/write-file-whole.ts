import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';

/** Replaces a file in one step: a reader, or a start after a crash, finds the old text or the new one, never a part. */
export const writeFileWhole = (file: string, text: string, mode: number): void => {
  const written = `${file}.${String(process.pid)}`;
  const descriptor = openSync(written, 'w', mode);
  writeSync(descriptor, text);
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(written, file);
};
