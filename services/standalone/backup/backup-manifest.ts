import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { readIfThere } from '../../../shared/primitives/files/read-if-there.ts';
import { writeFileWhole } from '../../../shared/primitives/files/write-file-whole.ts';

export const MANIFEST = 'manifest.json';
export const EVENTS = 'events.db';
/** @param times how often destroyed keys were removed from it */
export const vaultName = (times: number): string => `vault.${String(times)}.ndjson`;
/** The time of the backup and the position of its newest event, so that names sort by time. */
const NAME = /^backup-\d{8}T\d{9}Z-\d+$/;

const file = z.strictObject({ name: z.string(), bytes: z.int(), sha256: z.string() });
const manifest = z.strictObject({
  annalsBackup: z.literal(1),
  /** ISO 8601. */
  at: z.iso.datetime(),
  /** The position of the newest event. */
  position: z.int().nonnegative(),
  /** Keys that events up to this position destroyed are not in the backup. */
  destroyedUpTo: z.int().nonnegative(),
  vaultId: z.string().nullable(),
  events: file,
  vault: file,
});
const signed = manifest.extend({ sha256: z.string() });
export type Manifest = z.infer<typeof manifest>;
export type BackupFile = z.infer<typeof file>;

export interface Backup extends Manifest {
  /** The folder of this backup. */
  folder: string;
}

/** @param at ISO 8601, to the millisecond */
export const nameOf = ({ at, position }: Pick<Manifest, 'at' | 'position'>): string =>
  `backup-${at.replaceAll(/[-:.]/g, '')}-${String(position)}`;

export const filesOf = ({ events, vault }: Pick<Manifest, 'events' | 'vault'>): BackupFile[] => [events, vault];

/** Returns the folders of backups, oldest first: of `folder` itself, or in `folder`. */
export const backupFolders = (folder: string): string[] => {
  if (NAME.test(basename(folder))) return [folder];
  const names = readdirSync(folder).filter((name) => NAME.test(name));
  return names.toSorted().map((name) => join(folder, name));
};

export const writeManifest = (folder: string, written: Manifest): void => {
  writeFileWhole(join(folder, MANIFEST), textOf(written), 0o600);
};

/** @throws CannotStart if the manifest is missing, or not as it was written */
export const readManifest = (folder: string): Backup => {
  const path = join(folder, MANIFEST);
  const text = readIfThere(path);
  if (text === undefined) throw new CannotStart(`${path} is missing`);
  const { data } = signed.safeParse(parsedJson(text));
  if (data) {
    const { sha256: _, ...written } = data;
    if (textOf(written) === text) return { ...written, folder };
  }
  throw new CannotStart(`${path} is not as it was written`);
};

/** Ends with a digest of the rest, so that a changed byte in the manifest itself is noticed. */
const textOf = (written: Manifest): string => {
  const sha256 = createHash('sha256').update(JSON.stringify(written)).digest('hex');
  return `${JSON.stringify({ ...written, sha256 }, undefined, 2)}\n`;
};

const parsedJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Reads a file, and returns its size and digest. @param progress called with the number of bytes read so far */
export const digestOf = async (
  path: string,
  progress: (bytes: number) => void = () => undefined,
): Promise<BackupFile> => {
  const hash = createHash('sha256');
  let bytes = 0;
  await pipeline(createReadStream(path, { highWaterMark: 1_048_576 }), async (pieces) => {
    for await (const piece of pieces as AsyncIterable<Buffer>) {
      hash.update(piece);
      bytes += piece.length;
      progress(bytes);
    }
  });
  return { name: basename(path), bytes, sha256: hash.digest('hex') };
};

/** Whether a file of a backup is there, and as it was written. @param progress called with the number of bytes read */
export const isUnchanged = async (
  folder: string,
  file: BackupFile,
  progress?: (bytes: number) => void,
): Promise<boolean> => {
  const path = join(folder, file.name);
  return existsSync(path) && (await digestOf(path, progress)).sha256 === file.sha256;
};
