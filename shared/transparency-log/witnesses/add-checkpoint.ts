import { HASH_BYTES, type Hash } from '../merkle-tree.ts';
import { NotANote } from '../signed-note.ts';

/** What a log posts to `<url>/add-checkpoint` of a witness (C2SP tlog-witness). */
export interface AddCheckpoint {
  /** Size of the newest checkpoint that the witness has cosigned, as far as the log knows. */
  old: number;
  /** That the log of the old size continues in the checkpoint (RFC 9162, 2.1.4). Empty if the old size is 0. */
  proof: readonly Hash[];
  /** The checkpoint, signed by the log. */
  note: string;
}

/** Media type of a size in an answer 409. */
export const SIZE_TYPE = 'text/x.tlog.size';
const PROOF_HASHES_MAX = 63;
const SIZE = '(0|[1-9][0-9]{0,15})';

export const addCheckpointBody = ({ old, proof, note }: AddCheckpoint): string =>
  `old ${String(old)}\n${proof.map((hash) => `${hash.toString('base64')}\n`).join('')}\n${note}`;

/** @throws NotANote */
export const parseAddCheckpoint = (body: string): AddCheckpoint => {
  const end = body.indexOf('\n\n');
  const [first = '', ...lines] = body.slice(0, Math.max(0, end)).split('\n');
  const old = sizeIn(first, new RegExp(`^old ${SIZE}$`));
  const proof = lines.map((line) => Buffer.from(line, 'base64'));
  const areHashes = proof.every((hash, at) => hash.length === HASH_BYTES && hash.toString('base64') === lines[at]);
  if (end < 0 || old === undefined || !areHashes)
    throw new NotANote(
      'the request must be a line "old <size>", lines of a consistency proof in base64, an empty line, and a checkpoint',
    );
  if (proof.length > PROOF_HASHES_MAX)
    throw new NotANote(`the proof has more than ${String(PROOF_HASHES_MAX)} hashes, and no tree needs so many`);
  return { old, proof, note: body.slice(end + 2) };
};

export const sizeBody = (size: number): string => `${String(size)}\n`;

/** Reads what `sizeBody` writes; `undefined` for anything else. */
export const parseSizeBody = (body: string): number | undefined => sizeIn(body, new RegExp(`^${SIZE}\n$`));

const sizeIn = (text: string, shape: RegExp): number | undefined => {
  const size = Number(shape.exec(text)?.[1] ?? NaN);
  return Number.isSafeInteger(size) ? size : undefined;
};
