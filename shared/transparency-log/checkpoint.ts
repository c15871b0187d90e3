import { EMPTY_ROOT, HASH_BYTES, type Hash } from './merkle-tree.ts';
import { NotANote } from './signed-note.ts';

/** C2SP tlog-checkpoint: the state of a log, as its origin signs it. */
export interface Checkpoint {
  /** Names the log, as the key does that signs it. */
  origin: string;
  /** Number of leaves. */
  size: number;
  root: Hash;
}

/** Returns the text to be signed. */
export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${String(size)}\n${root.toString('base64')}\n`;

/** Reads the text of a signed note; lines after the third are extensions, which nobody here defines. @throws NotANote */
export const parseCheckpoint = (text: string): Checkpoint => {
  const [origin = '', digits = '', base64 = '', ...rest] = text.split('\n');
  const root = Buffer.from(base64, 'base64');
  const size = Number(digits);
  const isOne =
    origin !== '' &&
    String(size) === digits &&
    Number.isSafeInteger(size) &&
    size >= 0 &&
    root.length === HASH_BYTES &&
    root.toString('base64') === base64 &&
    (size > 0 || root.equals(EMPTY_ROOT)) &&
    rest.pop() === '' &&
    rest.every((line) => line !== '');
  if (!isOne) throw new NotANote('it is no checkpoint: an origin, a size and a root, each in a line');
  return { origin, size, root };
};
