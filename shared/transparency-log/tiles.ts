import { HASH_BYTES, nodeHash, rootOf, subtreesOf, type Hash, type Subtree } from './merkle-tree.ts';

/** C2SP tlog-tiles: a tile has the hashes of 256 neighbouring subtrees of level `8 * level`, fewer at the end of the tree. */
export const TILE_HASHES = 256;
const TILE_LEVELS = 8;

export interface TileId {
  level: number;
  index: number;
}

/** The hashes of a tile, one after the other. */
export type Tile = Uint8Array;

/** A tile, and its place. */
export type PlacedTile = TileId & { tile: Tile };

/** Returns tiles in this order, of at least this width. */
export type TileReader = (tiles: readonly (TileId & { width: number })[]) => Promise<readonly Tile[]>;

export const widthOf = (tile: Tile): number => tile.length / HASH_BYTES;

/** A tile's path below `tile/`, with its width where it is not full, such as `0/x001/234.p/7`. */
export const tilePath = ({ level, index }: TileId, width = TILE_HASHES): string => {
  const groups = [String(index % 1_000).padStart(3, '0')];
  for (let rest = Math.floor(index / 1_000); rest > 0; rest = Math.floor(rest / 1_000))
    groups.unshift(`x${String(rest % 1_000).padStart(3, '0')}`);
  const partial = width === TILE_HASHES ? '' : `.p/${String(width)}`;
  return `${String(level)}/${groups.join('/')}${partial}`;
};

/** Reads what `tilePath` writes; `undefined` for anything else. Tiles above level 6 would need more than 2^53 leaves. */
export const parseTilePath = (path: string): (TileId & { width: number }) | undefined => {
  const [, level, index = '', width = String(TILE_HASHES)] =
    /^([0-6])\/((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(path) ?? [];
  const tile = { level: Number(level), index: Number(index.replaceAll(/[x/]/g, '')), width: Number(width) };
  const isOne = tile.width <= TILE_HASHES && Number.isSafeInteger(tile.index) && tilePath(tile, tile.width) === path;
  return isOne ? tile : undefined;
};

/** Returns the tile whose hashes decide that of a subtree. */
export const tileOf = ({ level, index }: Subtree): TileId => {
  const tileLevel = Math.floor(level / TILE_LEVELS);
  return { level: tileLevel, index: Math.floor((index * 2 ** (level - tileLevel * TILE_LEVELS)) / TILE_HASHES) };
};

/** Returns the hash of a complete subtree from its tile. @throws RangeError if the tile lacks hashes of it */
export const subtreeHash = ({ level, index }: Subtree, tile: Tile): Hash => {
  const width = 2 ** (level % TILE_LEVELS);
  const from = (index * width) % TILE_HASHES;
  if (from + width > widthOf(tile))
    throw new RangeError(`a tile of ${String(widthOf(tile))} hashes lacks number ${String(from + width - 1)}`);
  return rootOfComplete(Array.from({ length: width }, (_, at) => hashAt(tile, from + at)));
};

const hashAt = (tile: Tile, at: number): Hash =>
  Buffer.from(tile.buffer, tile.byteOffset + at * HASH_BYTES, HASH_BYTES);

export const hashesOf = (tile: Tile): Hash[] => Array.from({ length: widthOf(tile) }, (_, at) => hashAt(tile, at));

/** @param hashes a power of two of them */
const rootOfComplete = (hashes: readonly Hash[]): Hash => {
  const [left, right] = hashes;
  if (!left) throw new RangeError('a subtree has at least one hash');
  if (!right) return left;
  const middle = hashes.length / 2;
  return nodeHash(rootOfComplete(hashes.slice(0, middle)), rootOfComplete(hashes.slice(middle)));
};

/** Returns how many hashes a tile has in a tree of this size. */
export const widthIn = (size: number, { level, index }: TileId): number =>
  Math.min(TILE_HASHES, Math.max(0, Math.floor(size / TILE_HASHES ** level) - index * TILE_HASHES));

/** Hashes of complete subtrees. */
export interface KnownSubtrees {
  get: (key: string) => Hash | undefined;
  set: (key: string, hash: Hash) => unknown;
}

/**
 * Computes the hashes of a proof from tiles.
 * @param proof as `inclusionProof` and `consistencyProof` return it
 * @param size of the tree that has the tiles
 * @param known hashes of complete subtrees of this tree, by key; gets those that are computed
 * @throws RangeError if a tile is too short
 */
export const readProof = async (
  proof: readonly (readonly Subtree[])[],
  size: number,
  read: TileReader,
  known: KnownSubtrees = new Map<string, Hash>(),
): Promise<Hash[]> => {
  const unknown = proof.flat().filter((subtree) => !known.get(keyOf(subtree)));
  const needed = new Map(unknown.map((subtree) => [tilePath(tileOf(subtree)), tileOf(subtree)]));
  const tiles =
    needed.size > 0 ? await read([...needed.values()].map((tile) => ({ ...tile, width: widthIn(size, tile) }))) : [];
  const byPath = new Map([...needed.keys()].map((path, at) => [path, tiles[at] ?? new Uint8Array()]));
  const hashOf = (subtree: Subtree) => {
    const hash =
      known.get(keyOf(subtree)) ?? subtreeHash(subtree, byPath.get(tilePath(tileOf(subtree))) ?? new Uint8Array());
    known.set(keyOf(subtree), hash);
    return hash;
  };
  return proof.map((subtrees) => rootOf(subtrees.map(hashOf)));
};

const keyOf = ({ level, index }: Subtree): string => `${String(level)}/${String(index)}`;

/**
 * The tiles at the right edge of a tree, to which leaves are added. That is all a tree needs to grow, and to know its
 * root.
 */
export class TreeEdge {
  private readonly levels: EdgeTile[] = [];

  private constructor(private leaves: number) {
    for (let hashes = leaves; hashes > 0; hashes = Math.floor(hashes / TILE_HASHES)) {
      this.levels.push({ index: Math.floor(hashes / TILE_HASHES), tile: emptyTile(), width: hashes % TILE_HASHES });
    }
  }

  static empty(): TreeEdge {
    return new TreeEdge(0);
  }

  /**
   * @param read returns the stored tiles, in this order; each may have been stored when the tree was larger already
   * @throws RangeError if a tile is too short for a tree of this size
   */
  static async of(size: number, read: (tiles: readonly TileId[]) => Promise<readonly Tile[]>): Promise<TreeEdge> {
    const edge = new TreeEdge(size);
    const needed = edge.levels.flatMap(({ width, ...one }, level) => (width > 0 ? [{ ...one, width, level }] : []));
    const stored = await read(needed.map(({ level, index }) => ({ level, index })));
    for (const [at, { level, index, width, tile }] of needed.entries()) {
      const bytes = stored[at]?.subarray(0, width * HASH_BYTES) ?? new Uint8Array();
      if (widthOf(bytes) < width)
        throw new RangeError(
          `tile ${tilePath({ level, index })} has ${String(widthOf(bytes))} hashes, not ${String(width)}`,
        );
      tile.set(bytes);
    }
    return edge;
  }

  get size(): number {
    return this.leaves;
  }

  /** Returns every tile that differs now, each as it is to be stored. */
  append(leaves: readonly Hash[]): PlacedTile[] {
    const full: PlacedTile[] = [];
    for (const leaf of leaves) this.push(0, leaf, full);
    this.leaves += leaves.length;
    const partial = this.levels.flatMap(({ index, tile, width }, level) =>
      width > 0 ? [{ level, index, tile: tile.subarray(0, width * HASH_BYTES) }] : [],
    );
    return [...full, ...partial];
  }

  root(): Hash {
    return rootOf(
      subtreesOf(0, this.leaves).map((subtree) => {
        const { tile } = this.levels[tileOf(subtree).level] ?? { tile: emptyTile() };
        return subtreeHash(subtree, tile);
      }),
    );
  }

  private push(level: number, hash: Hash, full: PlacedTile[]): void {
    const edge = (this.levels[level] ??= { index: 0, tile: emptyTile(), width: 0 });
    edge.tile.set(hash, edge.width * HASH_BYTES);
    edge.width += 1;
    if (edge.width < TILE_HASHES) return;
    const { index, tile } = edge;
    full.push({ level, index, tile });
    Object.assign(edge, { index: index + 1, tile: emptyTile(), width: 0 });
    this.push(level + 1, rootOfComplete(hashesOf(tile)), full);
  }
}

/** The newest tile of a level; it is not full. */
interface EdgeTile {
  index: number;
  tile: Buffer;
  width: number;
}

const emptyTile = (): Buffer => Buffer.alloc(TILE_HASHES * HASH_BYTES);
