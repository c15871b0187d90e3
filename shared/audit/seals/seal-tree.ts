import { sha256 } from '../../primitives/ids.ts';
import { canonicalJson } from '../../primitives/text/canonical-json.ts';
import { leafHash, type Hash } from '../../transparency-log/merkle-tree.ts';
import { TILE_HASHES, TreeEdge, type PlacedTile } from '../../transparency-log/tiles.ts';

/** How long a user's history is, and the hash of its newest item. */
export interface HistoryHead {
  userId: string;
  items: number;
  hash: string;
}

/** A leaf of a seal, and the SHA-256 of the user id by which leaves are sorted. */
export interface SealLeaf {
  user: string;
  leaf: Hash;
}

export interface SealTree {
  users: number;
  root: Hash;
  tiles: PlacedTile[];
  /** `user` of the first leaf of each tile of leaves. */
  firsts: string[];
}

export const sealLeaf = ({ userId, items, hash }: HistoryHead): SealLeaf => {
  const user = sha256(userId);
  return { user, leaf: sealLeafHash({ user, items, hash }) };
};

/** @param leaf whose `user` is the SHA-256 of the user id */
export const sealLeafHash = ({ user, items, hash }: Omit<HistoryHead, 'userId'> & { user: string }): Hash =>
  leafHash(canonicalJson({ user, items, hash }));

/** Returns the Merkle tree over these leaves, which are given in any order. */
export const sealTree = (leaves: readonly SealLeaf[]): SealTree => {
  const sorted = leaves.toSorted((one, other) => (one.user < other.user ? -1 : 1));
  const edge = TreeEdge.empty();
  const tiles = edge.append(sorted.map(({ leaf }) => leaf));
  const firsts = sorted.filter((_, at) => at % TILE_HASHES === 0).map(({ user }) => user);
  return { users: edge.size, root: edge.root(), tiles, firsts };
};
