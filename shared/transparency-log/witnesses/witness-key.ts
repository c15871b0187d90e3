import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createFileWhole } from '../../primitives/files/write-file-whole.ts';
import { COSIGNATURE, NotANote, NoteSigner } from '../signed-note.ts';

const SEED_BYTES = 32;

/**
 * Reads the key file of a witness, a line `PRIVATE+KEY+<name>+<id>+<base64 of type and seed>` (C2SP signed-note), which
 * is made if there is none.
 * @param name of the key to be made
 * @throws NotANote for a file with other content
 */
export const openWitnessKey = (file: string, name: string): NoteSigner => {
  if (!existsSync(file)) createFileWhole(file, keyText(name, randomBytes(SEED_BYTES)), 0o600);
  const text = readFileSync(file, 'utf8');
  const [, named = '', base64 = ''] = /^PRIVATE\+KEY\+([^+\s]+)\+[0-9a-f]{8}\+(\S+)\n?$/u.exec(text) ?? [];
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length === 1 + SEED_BYTES && keyText(named, bytes.subarray(1)).trimEnd() === text.trimEnd())
    return new NoteSigner(named, bytes.subarray(1), COSIGNATURE);
  throw new NotANote(`${file} is no key of a witness: it must be one line, PRIVATE+KEY+<name>+<id>+<base64>`);
};

const keyText = (name: string, seed: Buffer): string => {
  const { id } = new NoteSigner(name, seed, COSIGNATURE).key;
  return `PRIVATE+KEY+${name}+${id.toString('hex')}+${Buffer.concat([Buffer.from([COSIGNATURE]), seed]).toString('base64')}\n`;
};
