import { hash } from 'node:crypto';

export const HASH_BYTES = 32;
/** SHA-256. */
export type Hash = Buffer;

/** A complete subtree: the `2 ** level` leaves from `index * 2 ** level` on. */
export interface Subtree {
  level: number;
  index: number;
}

const LEAF = Buffer.from([0]);
/** 1, and room for the hashes of two children: the same bytes for every node, which are most of what is hashed. */
const children = Buffer.alloc(1 + 2 * HASH_BYTES, 1);

/** RFC 9162, 2.1.1. */
export const leafHash = (entry: string | Uint8Array): Hash =>
  hash('sha256', typeof entry === 'string' ? `\0${entry}` : Buffer.concat([LEAF, entry]), 'buffer');

/** RFC 9162, 2.1.1. */
export const nodeHash = (left: Hash, right: Hash): Hash => {
  children.set(left, 1);
  children.set(right, 1 + HASH_BYTES);
  return hash('sha256', children, 'buffer');
};

/** The root of a tree without leaves. */
export const EMPTY_ROOT: Hash = hash('sha256', '', 'buffer');

/** Returns the complete subtrees of which the leaves from `from` up to `to` (exclusive) consist, left to right. */
export const subtreesOf = (from: number, to: number): Subtree[] => {
  const subtrees: Subtree[] = [];
  for (let at = from; at < to;) {
    let [level, leaves] = [0, 1];
    while (at % (2 * leaves) === 0 && at + 2 * leaves <= to) [level, leaves] = [level + 1, 2 * leaves];
    subtrees.push({ level, index: at / leaves });
    at += leaves;
  }
  return subtrees;
};

/** Returns the hash of neighbouring leaves from those of their complete subtrees, in the order of `subtreesOf`. */
export const rootOf = (subtrees: readonly Hash[]): Hash =>
  subtrees.length === 0 ? EMPTY_ROOT : subtrees.reduceRight((right, left) => nodeHash(left, right));

/**
 * RFC 9162, 2.1.3: that a leaf is in the tree of this size. Each hash of the proof is the root of the complete subtrees
 * listed for it.
 */
export const inclusionProof = (index: number, size: number): Subtree[][] => {
  if (index < 0 || index >= size)
    throw new RangeError(`there is no leaf ${String(index)} in a tree of ${String(size)}`);
  const proof: Subtree[][] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = from + leftLeaves(to - from);
    if (index < middle) {
      proof.push(subtreesOf(middle, to));
      to = middle;
    } else {
      proof.push(subtreesOf(from, middle));
      from = middle;
    }
  }
  return proof.reverse();
};

/** RFC 9162, 2.1.4: that the tree of size `newer` begins with all leaves of that of size `older`. */
export const consistencyProof = (older: number, newer: number): Subtree[][] => {
  if (older < 0 || older > newer)
    throw new RangeError(`a tree of ${String(newer)} leaves does not begin with one of ${String(older)}`);
  if (older === 0) return [];
  const proof: Subtree[][] = [];
  let [from, to] = [0, newer];
  while (to !== older) {
    const middle = from + leftLeaves(to - from);
    if (older <= middle) {
      proof.push(subtreesOf(middle, to));
      to = middle;
    } else {
      proof.push(subtreesOf(from, middle));
      from = middle;
    }
  }
  // From 0 on, this is the whole older tree, whose root the verifier has.
  if (from > 0) proof.push(subtreesOf(from, to));
  return proof.reverse();
};

/** The greatest power of two that is less than the number of leaves, of which there are at least two. */
const leftLeaves = (leaves: number): number => {
  let power = 1;
  while (power * 2 < leaves) power *= 2;
  return power;
};

/**
 * RFC 9162, 2.1.3.2. Returns the root that follows from a proof; `undefined` if the proof has the wrong length, or if a
 * tree of this size has no such leaf.
 */
export const rootByInclusion = (
  leaf: Hash,
  { index, size }: { index: number; size: number },
  proof: readonly Hash[],
): Hash | undefined => {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) return undefined;
  let [node, last, root] = [index, size - 1, leaf];
  for (const hash of proof) {
    if (last === 0) return undefined;
    if (node % 2 === 1 || node === last) {
      root = nodeHash(hash, root);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, half(last)];
    } else {
      root = nodeHash(root, hash);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 ? root : undefined;
};

/** RFC 9162, 2.1.4.2. */
export const isConsistent = (
  older: { size: number; root: Hash },
  newer: { size: number; root: Hash },
  proof: readonly Hash[],
): boolean => {
  if (![older.size, newer.size].every(Number.isSafeInteger) || older.size < 0 || older.size > newer.size) return false;
  if (older.size === newer.size) return proof.length === 0 && older.root.equals(newer.root);
  if (older.size === 0) return proof.length === 0 && older.root.equals(EMPTY_ROOT);
  const isPower = subtreesOf(0, older.size).length === 1;
  const [first, ...rest] = isPower ? [older.root, ...proof] : proof;
  if (!first) return false;
  let [node, last] = [older.size - 1, newer.size - 1];
  while (node % 2 === 1) [node, last] = [half(node), half(last)];
  let [olderRoot, newerRoot] = [first, first];
  for (const hash of rest) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      olderRoot = nodeHash(hash, olderRoot);
      newerRoot = nodeHash(hash, newerRoot);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, half(last)];
    } else {
      newerRoot = nodeHash(newerRoot, hash);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && olderRoot.equals(older.root) && newerRoot.equals(newer.root);
};

const half = (number: number): number => Math.floor(number / 2);
