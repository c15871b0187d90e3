import type { Checkpoint } from './checkpoint.ts';
import { consistencyProof, isConsistent, subtreesOf, type Hash } from './merkle-tree.ts';
import { readProof, type TileReader } from './tiles.ts';

/** Tiles are not those of the checkpoint: they were changed on the way, or are not all stored. */
export class WrongTiles extends Error {
  override readonly name = 'WrongTiles';
}

/**
 * Whether one of two checkpoints begins with the leaves of the other. The older root is computed from tiles that are proven
 * to be of the newer checkpoint, so that a wrong tile is not taken for another history.
 * @param read returns tiles of the larger one
 * @throws WrongTiles if what it returns is not of the larger one, and as `read`
 */
export const isContinued = async (one: Checkpoint, other: Checkpoint, read: TileReader): Promise<boolean> => {
  const [older, newer] = one.size <= other.size ? [one, other] : [other, one];
  if (older.size === newer.size) return older.root.equals(newer.root);
  const needed = [subtreesOf(0, older.size), ...consistencyProof(older.size, newer.size)];
  const [root, ...proof] = await proofOf(needed, newer, read);
  if (root && isConsistent({ size: older.size, root }, newer, proof)) return root.equals(older.root);
  throw wrongTiles(newer);
};

const proofOf = async (needed: Parameters<typeof readProof>[0], of: Checkpoint, read: TileReader): Promise<Hash[]> => {
  try {
    return await readProof(needed, of.size, read);
  } catch (cause) {
    if (cause instanceof RangeError) throw wrongTiles(of, cause);
    throw cause;
  }
};

const wrongTiles = ({ origin, size }: Checkpoint, cause?: unknown): WrongTiles =>
  new WrongTiles(`the tiles are not those of the checkpoint of ${origin} with ${String(size)} leaves`, { cause });
