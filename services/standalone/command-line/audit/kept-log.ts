import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KeptCheckpoint } from '../../../../shared/audit/exported-leaves.ts';
import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import { parseCheckpoint } from '../../../../shared/transparency-log/checkpoint.ts';
import {
  NotANote,
  parseNote,
  openNote,
  parseVkey,
  type NoteKey,
  type SignatureType,
} from '../../../../shared/transparency-log/signed-note.ts';
import { tilePath, type Tile, type TileId } from '../../../../shared/transparency-log/tiles.ts';
import { WrongArguments } from '../wrong-arguments.ts';

/** For options that can be given several times. */
export const collect = (value: string, others: string[]): string[] => [...others, value];

/** @param logKey that must have signed it, if it is known @throws CannotStart */
export const readKeptCheckpoint = (file: string, logKey?: NoteKey): KeptCheckpoint => {
  try {
    const note = readFileSync(file, 'utf8');
    if (logKey && !openNote(note, logKey)) throw new NotANote(`it is not signed by ${logKey.name} with the given key`);
    return { ...parseCheckpoint(parseNote(note).text), of: file, note };
  } catch (cause) {
    const why = cause instanceof NotANote ? cause.message : 'it cannot be read';
    throw new CannotStart(`${file} is no checkpoint of a log: ${why}`, { cause });
  }
};

/** Reads tiles as C2SP tlog-tiles names them; of those that are not full the longest. @throws CannotStart */
export const tilesOf = (folder: string): ((id: TileId) => Promise<Tile>) => {
  if (!existsSync(join(folder, 'tile/0')))
    throw new CannotStart(`${folder} has no tiles: name the folder that has tile/0, as it is served below /log`);
  return (id) => {
    const path = join(folder, 'tile', tilePath(id));
    if (existsSync(path)) return Promise.resolve(readFileSync(path));
    const widths = existsSync(`${path}.p`) ? readdirSync(`${path}.p`).map(Number).filter(Number.isInteger) : [];
    const widest = Math.max(0, ...widths);
    return Promise.resolve(widest === 0 ? Buffer.alloc(0) : readFileSync(join(`${path}.p`, String(widest))));
  };
};

/** @throws WrongArguments */
export const readVkey = (vkey: string, type: SignatureType, whose: string): NoteKey => {
  try {
    const key = parseVkey(vkey.trim());
    if (key.type === type) return key;
  } catch (error) {
    if (!(error instanceof NotANote)) throw error;
    throw new WrongArguments(error.message, { cause: error });
  }
  throw new WrongArguments(`"${vkey}" is not the key of ${whose}`);
};

/** @throws WrongArguments */
export const requireLogUrl = (url: string): void => {
  if (/^https?:\/\/.*\/log$/.test(url) && URL.canParse(url)) return;
  throw new WrongArguments(`--log ${url} must be an http or https address that ends in /log`);
};
